-- A run outside the schedule. Answers how it went: 2 a message was made, 1 it waits in line, 0 another run
-- has not ended; then that run's id (of 0 the other's) and state. No row: there is no such job.
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;

INSERT OR IGNORE INTO pawl_lane (topic, priority, destination)
SELECT topic, priority, coalesce(destination, '') FROM pawl_job WHERE name = :name;

SELECT 0, o.id, o.state
FROM pawl_job j
CROSS JOIN pawl_job_run o
        ON o.id = (SELECT max(m.id) FROM pawl_job_run m INDEXED BY pawl_job_run_open
                   WHERE m.job_id = j.id AND m.state IN (0, 1, 6))
WHERE j.name = :name AND NOT :force AND j.overlap <> 'allow'
  AND (j.overlap = 'skip'
       OR EXISTS (SELECT 1 FROM pawl_job_run w INDEXED BY pawl_job_run_waiting
                  WHERE w.job_id = j.id AND w.state = 6));

-- @stop-unless-changed
INSERT OR FAIL INTO pawl_job_run (job_id, triggered, state, scheduled_at, last_slot_at, created_at)
SELECT j.id, 1, 6, :now, :now, :now
FROM pawl_job j
WHERE j.name = :name
  AND (:force OR j.overlap = 'allow'
       OR NOT EXISTS (SELECT 1 FROM pawl_job_run o INDEXED BY pawl_job_run_open
                      WHERE o.job_id = j.id AND o.state IN (0, 1, 6))
       OR (j.overlap = 'queue'
           AND NOT EXISTS (SELECT 1 FROM pawl_job_run o INDEXED BY pawl_job_run_waiting
                           WHERE o.job_id = j.id AND o.state = 6)));

SELECT 1, last_insert_rowid(), 6;

-- If it waits, the scheduler has to know.
UPDATE OR FAIL pawl_job
SET version = version + 1, sweep_at = min(sweep_at, :now + 60000000),
    look_at = CASE overlap WHEN 'queue' THEN 0 ELSE look_at END
WHERE name = :name;

-- @stop-unless-changed
-- @include job_message
FROM pawl_job_run r
CROSS JOIN pawl_job j ON j.id = r.job_id
WHERE r.id = last_insert_rowid()
  AND (:force OR j.overlap = 'allow'
       OR NOT EXISTS (SELECT 1 FROM pawl_job_run o INDEXED BY pawl_job_run_open
                      WHERE o.job_id = j.id AND o.state IN (0, 1, 6) AND o.state <> 6));

-- @include job_queue

UPDATE OR FAIL pawl_job_run SET state = 0, work_id = last_insert_rowid(), message_id = :message_id
WHERE id = (SELECT run_id FROM pawl_body WHERE id = last_insert_rowid());

SELECT 2, run_id, 0 FROM pawl_body WHERE id = last_insert_rowid();

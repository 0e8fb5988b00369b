-- What the scheduler decided: all of a job's steps, or none if the job has changed since it was read, or if
-- the clock was set back since then. Steps: 0 the job moves on, 1 news that were heard, 2 whoever is first in
-- line may start, 3 slots that are skipped, 4 a slot that runs, waits or is skipped, as the job says of
-- overlaps. Answers what was done: 0, job; 3 or 4, job, state of the run; 5, job, step: a message was made.
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;

-- @each
UPDATE OR FAIL pawl_job
SET next_slot_at = :slot, next_due_at = :due, look_at = coalesce(:look_at, 9223372036854775807),
    last_slot_at = CASE WHEN :rewinds OR :last_slot > coalesce(last_slot_at, :last_slot - 1)
                        THEN :last_slot ELSE last_slot_at END,
    planned_at = :planned_at, since = :since, anchor = :anchor, awaited_run = CASE WHEN :awaits THEN awaited_run END,
    created_at = coalesce(created_at, :now), updated_at = coalesce(updated_at, :now),
    sweep_at = CASE WHEN :last_slot IS NULL AND NOT :rewinds THEN sweep_at ELSE min(sweep_at, :now + 60000000) END,
    problem = :problem, version = version + 1, tick = :tick
WHERE :step = 0 AND id = :job_id AND version = :seen AND :planned_at <= :now;
-- @each
SELECT 0, :job_id, 0 WHERE :step = 0 AND changes() = 1;
-- The clock was set back: occurrences that are still to come were not missed.
-- @each
DELETE FROM pawl_job_run
WHERE :rewinds AND :step = 0 AND job_id = :job_id AND state = 7 AND scheduled_at > :now AND NOT triggered
  AND (SELECT tick FROM pawl_job WHERE id = :job_id) = :tick;

-- @each
UPDATE OR FAIL pawl_job_run SET news = 0
WHERE :step = 1 AND id = :run_id AND news = :seen
  AND (SELECT tick FROM pawl_job WHERE id = :job_id) = :tick;

-- @each
INSERT OR IGNORE INTO pawl_lane (topic, priority, destination)
SELECT topic, priority, coalesce(destination, '') FROM pawl_job
WHERE :step IN (2, 4) AND id = :job_id AND tick = :tick;

-- Everything that will run waits first.
-- @each
INSERT OR IGNORE INTO pawl_job_run (job_id, state, reason, scheduled_at, last_slot_at, slots, slots_more,
                                    created_at)
SELECT id, CASE WHEN runs THEN 6 ELSE 7 END, CASE WHEN runs THEN 0 WHEN :step = 3 THEN 2 ELSE 1 END,
       :slot, coalesce(:last_slot, :slot), coalesce(:slots, 1), coalesce(:slots_more, 0), :now
FROM (SELECT j.id,
             :step = 4
             AND (j.overlap = 'allow'
                  OR NOT EXISTS (SELECT 1 FROM pawl_job_run o INDEXED BY pawl_job_run_open
                                 WHERE o.job_id = j.id AND o.state IN (0, 1, 6))
                  OR :in_line
                  OR (j.overlap = 'queue'
                      AND NOT EXISTS (SELECT 1 FROM pawl_job_run o INDEXED BY pawl_job_run_waiting
                                      WHERE o.job_id = j.id AND o.state = 6))) AS runs
      FROM pawl_job j
      WHERE :step IN (3, 4) AND j.id = :job_id AND j.tick = :tick);
-- @each
SELECT :step, :job_id, state FROM pawl_job_run
WHERE id = last_insert_rowid() AND changes() = 1 AND :step IN (3, 4);
-- "From start": nothing more until it is claimed; if it is skipped, it is computed again.
-- @each
UPDATE OR FAIL pawl_job
SET awaited_run = CASE WHEN r.state = 6 THEN r.id END,
    since = CASE WHEN r.state = 6 THEN since ELSE :now END,
    look_at = CASE WHEN r.state = 6 THEN look_at ELSE 0 END
FROM (SELECT id, state FROM pawl_job_run WHERE id = last_insert_rowid() AND changes() = 1) r
WHERE :step = 4 AND :awaits AND pawl_job.id = :job_id;
-- It has run, before the clock was set back.
-- @each
UPDATE OR FAIL pawl_job SET since = :now, look_at = 0
WHERE :step = 4 AND :awaits AND id = :job_id AND tick = :tick AND awaited_run IS NULL AND look_at > 0;

-- @each
-- @include job_message
FROM pawl_job j
CROSS JOIN pawl_job_run r
        ON r.id = (SELECT min(w.id) FROM pawl_job_run w INDEXED BY pawl_job_run_waiting
                   WHERE w.job_id = j.id AND w.state = 6)
WHERE :step IN (2, 4) AND j.id = :job_id AND j.tick = :tick
  AND (j.overlap = 'allow'
       OR NOT EXISTS (SELECT 1 FROM pawl_job_run o INDEXED BY pawl_job_run_open
                      WHERE o.job_id = j.id AND o.state IN (0, 1, 6) AND o.state <> 6));
-- @each
-- @include job_queue
-- @each
UPDATE OR FAIL pawl_job_run SET state = 0, work_id = last_insert_rowid(), message_id = :message_id
WHERE id = (SELECT run_id FROM pawl_body WHERE id = last_insert_rowid()) AND changes() = 1;
-- @each
SELECT 5, :job_id, :step WHERE changes() = 1 AND :step IN (2, 4);

-- sql/sqlite/job.sql - scheduled jobs and their runs.

-- part: job_unfinished
(SELECT count(*) FROM pawl_job_run o INDEXED BY pawl_job_run_open
 WHERE o.job_id = j.id AND o.state IN (@RUN_STATES_UNFINISHED@))

-- part: run_job
(SELECT name FROM pawl_job WHERE id = r.job_id)

-- part: job_message
-- The message of run r of job j.
INSERT OR FAIL INTO pawl_body (message_id, topic, priority, type, created_at, due_at, expires_at,
                               max_attempts, lease, retry_base, retry_max, retry_jitter, timeout, heartbeat, run_id,
                               destination, headers, correlation_id, payload)
SELECT :message_id, j.topic, j.priority, j.type, :now, r.scheduled_at,
       :now + coalesce(j.ttl, CASE WHEN j.destination IS NOT NULL THEN @TTL_REMOTE@000 END),
       coalesce(j.max_attempts, CASE WHEN j.destination IS NULL THEN @ATTEMPTS_LOCAL@ ELSE @ATTEMPTS_REMOTE@ END),
       j.lease, j.retry_base, j.retry_max, j.retry_jitter, j.timeout, j.heartbeat, r.id, j.destination,
       json_patch(coalesce(j.headers, '{}'),
                  json_object('pawl-job', j.name, 'pawl-run', CAST(r.id AS TEXT), 'pawl-scheduled-at',
                              CASE WHEN NOT r.triggered
                                   THEN strftime('%Y-%m-%dT%H:%M:%S', r.scheduled_at / 1000000, 'unixepoch')
                                        || CASE WHEN r.scheduled_at % 1000000 <> 0
                                                THEN printf('.%06d', r.scheduled_at % 1000000) ELSE '' END
                                        || 'Z' END)),
       j.correlation_id, CAST(j.payload AS BLOB)

-- part: job_queue
INSERT OR FAIL INTO pawl_queue (id, lane_id, run_at, expires_at, lease, run_id)
SELECT id,
       -- @include lane_of_body
       ,
       :now, expires_at, lease, run_id
FROM pawl_body b
WHERE id = last_insert_rowid() AND changes() = 1;

-- part: unbegun_messages
FROM pawl_job j
CROSS JOIN pawl_job_run r INDEXED BY pawl_job_run_open ON r.job_id = j.id AND r.state IN (@RUN_STATES_UNFINISHED@)
CROSS JOIN pawl_queue q ON q.id = r.work_id
WHERE j.name = :name AND q.fence = 0

-- part: runs_of_seen
matching AS (
    SELECT h.*, ((1 << h.state) & :states) <> 0 AS matches
    FROM seen CROSS JOIN pawl_job_run h ON h.id = seen.id)
-- @include run_columns row=r name=part:run_job output='CASE WHEN :with_output THEN r.output END'
       , matches AS matches, (SELECT count(*) FROM seen) = :scan AS bounded
FROM matching r

-- name: job_put
-- Create or change a job. With the same schedule and zone the next occurrence stays; otherwise the scheduler
-- computes it from now on. Returns whether the job is new.
SELECT NOT EXISTS (SELECT 1 FROM pawl_job WHERE name = :name);

INSERT INTO pawl_job AS j
    (name, schedule, zone, topic, payload, type, destination, headers, correlation_id, priority,
     max_attempts, retry_base, retry_max, retry_jitter, misfire, misfire_cap, misfire_grace, overlap,
     jitter, ttl, timeout, lease, heartbeat, keep_runs, keep_age, enabled, created_at, updated_at, anchor,
     since, sweep_due_at)
VALUES (:name, trim(:schedule), :zone, :topic, :payload, :type, :destination, :headers, :correlation_id, :priority,
        :max_attempts, :retry_base, :retry_max, :retry_jitter, :misfire, :misfire_cap, :misfire_grace,
        :overlap, :jitter, :ttl, :timeout, :lease, :heartbeat, :keep_runs, :keep_age, :enabled, :now, :now,
        :now, :now, :now + 60000000)
ON CONFLICT (name) DO UPDATE
SET schedule = excluded.schedule, zone = excluded.zone, topic = excluded.topic, payload = excluded.payload,
    type = excluded.type, destination = excluded.destination, headers = excluded.headers,
    correlation_id = excluded.correlation_id, priority = excluded.priority,
    max_attempts = excluded.max_attempts, retry_base = excluded.retry_base, retry_max = excluded.retry_max,
    retry_jitter = excluded.retry_jitter, misfire = excluded.misfire, misfire_cap = excluded.misfire_cap,
    misfire_grace = excluded.misfire_grace, overlap = excluded.overlap, jitter = excluded.jitter,
    ttl = excluded.ttl, timeout = excluded.timeout, lease = excluded.lease, heartbeat = excluded.heartbeat,
    keep_runs = excluded.keep_runs, keep_age = excluded.keep_age,
    created_at = coalesce(created_at, excluded.created_at), updated_at = excluded.updated_at,
    anchor = CASE WHEN j.schedule = excluded.schedule AND j.zone = excluded.zone
                  THEN coalesce(anchor, :now) ELSE :now END,
    since = CASE WHEN j.schedule = excluded.schedule AND j.zone = excluded.zone
                 THEN coalesce(since, :now) ELSE :now END,
    next_occurrence_at = CASE WHEN j.schedule = excluded.schedule AND j.zone = excluded.zone THEN next_occurrence_at END,
    next_due_at = CASE WHEN j.schedule = excluded.schedule AND j.zone = excluded.zone THEN next_due_at END,
    awaited_run = CASE WHEN j.schedule = excluded.schedule AND j.zone = excluded.zone THEN awaited_run END,
    next_check_at = 0, sweep_due_at = min(sweep_due_at, excluded.sweep_due_at), version = version + 1, problem = NULL;

UPDATE pawl_meta SET latest_time = :now WHERE id = 1;

-- name: job_get
-- One job by its name: the clock, then the columns of pawl_job_status.
SELECT :now AS at, s.* FROM pawl_job_status s WHERE s.name = :name;

-- name: job_list
-- Jobs by name: the clock, then the columns of pawl_job_status, without payloads.
-- @include job_columns payload=NULL
       , :now AS at
FROM pawl_job_status
WHERE name > :after
ORDER BY name LIMIT :limit;

-- name: job_switch
-- Enable or disable a job. After enabling, occurrences are computed from now on. Returns whether the job exists
-- and whether it changed.
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;

SELECT 1, enabled <> :enabled FROM pawl_job WHERE name = :name;

UPDATE OR FAIL pawl_job
SET enabled = :enabled, since = :now, next_occurrence_at = NULL, next_due_at = NULL, awaited_run = NULL,
    next_check_at = 0, updated_at = :now, version = version + 1, problem = NULL
WHERE name = :name AND enabled <> :enabled;

-- name: job_trigger
-- Start a run outside the schedule. Returns the result (2 a message was enqueued, 1 the run waits, 0 another
-- run has not ended) and that run's id and state (for 0 the other run's). No row: the job does not exist.
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;

INSERT OR IGNORE INTO pawl_lane (topic, priority, destination)
SELECT topic, priority, coalesce(destination, '') FROM pawl_job WHERE name = :name;

SELECT @JOB_TRIGGER_BUSY@, o.id, o.state
FROM pawl_job j
CROSS JOIN pawl_job_run o
        ON o.id = (SELECT max(m.id) FROM pawl_job_run m INDEXED BY pawl_job_run_open
                   WHERE m.job_id = j.id AND m.state IN (@RUN_STATES_UNFINISHED@))
WHERE j.name = :name AND NOT :force AND j.overlap <> 'allow'
  AND (j.overlap = 'skip'
       OR EXISTS (SELECT 1 FROM pawl_job_run w INDEXED BY pawl_job_run_waiting
                  WHERE w.job_id = j.id AND w.state = @RUN_WAITING@));

-- @stop-unless-changed
INSERT OR FAIL INTO pawl_job_run (job_id, triggered, state, scheduled_at, last_occurrence_at, created_at)
SELECT j.id, 1, @RUN_WAITING@, :now, :now, :now
FROM pawl_job j
WHERE j.name = :name
  AND (:force OR j.overlap = 'allow'
       OR NOT EXISTS (SELECT 1 FROM pawl_job_run o INDEXED BY pawl_job_run_open
                      WHERE o.job_id = j.id AND o.state IN (@RUN_STATES_UNFINISHED@))
       OR (j.overlap = 'queue'
           AND NOT EXISTS (SELECT 1 FROM pawl_job_run o INDEXED BY pawl_job_run_waiting
                           WHERE o.job_id = j.id AND o.state = @RUN_WAITING@)));

SELECT @JOB_TRIGGER_WAITS@, last_insert_rowid(), @RUN_WAITING@;

-- If the run waits, the scheduler must examine the job.
UPDATE OR FAIL pawl_job
SET version = version + 1, sweep_due_at = min(sweep_due_at, :now + 60000000),
    next_check_at = CASE overlap WHEN 'queue' THEN 0 ELSE next_check_at END
WHERE name = :name;

-- @stop-unless-changed
-- @include job_message
FROM pawl_job_run r
CROSS JOIN pawl_job j ON j.id = r.job_id
WHERE r.id = last_insert_rowid()
  AND (:force OR j.overlap = 'allow'
       OR NOT EXISTS (SELECT 1 FROM pawl_job_run o INDEXED BY pawl_job_run_open
                      WHERE o.job_id = j.id AND o.state IN (@RUN_STATES_UNFINISHED@) AND o.state <> @RUN_WAITING@));

-- @include job_queue

UPDATE OR FAIL pawl_job_run SET state = @STATE_READY@, work_id = last_insert_rowid(), message_id = :message_id
WHERE id = (SELECT run_id FROM pawl_body WHERE id = last_insert_rowid());

SELECT @JOB_TRIGGER_STARTED@, run_id, @STATE_READY@ FROM pawl_body WHERE id = last_insert_rowid();

-- name: job_delete
-- Remove a job and its history. Runs that are not claimed are cancelled. Returns the rows (0, number of
-- cancelled runs), possibly several, and (1, number of removed jobs).
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;

INSERT OR FAIL INTO pawl_outcome (id, state, finished_at, retries, error, progress)
SELECT q.id, @STATE_CANCELLED@, :now, q.retries, q.last_error, q.progress
-- @include unbegun_messages
;

SELECT 0, changes();

UPDATE OR FAIL pawl_lane_stats
SET cancelled = cancelled + gone.n
FROM (SELECT q.lane_id, count(*) AS n
      -- @include unbegun_messages
      GROUP BY q.lane_id) gone
WHERE pawl_lane_stats.lane_id = gone.lane_id;

DELETE FROM pawl_queue
WHERE id IN (SELECT q.id
             -- @include unbegun_messages
             );

SELECT 0, count(*)
FROM pawl_job j
CROSS JOIN pawl_job_run r INDEXED BY pawl_job_run_open ON r.job_id = j.id AND r.state IN (@RUN_STATES_UNFINISHED@)
WHERE j.name = :name AND r.state = @RUN_WAITING@;

DELETE FROM pawl_job_run WHERE job_id = (SELECT id FROM pawl_job WHERE name = :name);

DELETE FROM pawl_job WHERE name = :name;

SELECT 1, changes();

-- name: job_due
-- The jobs that the scheduler must process. Returns (0) the clock and when the next job is due; (1) the jobs
-- that are due, that have pending events, or that were planned by a clock that was ahead; (2) those events.
-- src/core/job_tick.c relies on the columns.
SELECT @JOB_DUE_CLOCK@, NULL, NULL, NULL, :now,
       (SELECT next_check_at FROM pawl_job INDEXED BY pawl_job_next_check
        WHERE next_check_at > :now AND next_check_at < 9223372036854775807 ORDER BY next_check_at LIMIT 1);

SELECT @JOB_DUE_JOB@, j.id, j.version, j.awaited_run, j.anchor, j.since, j.schedule, j.zone, j.enabled, j.misfire,
       j.misfire_cap, j.misfire_grace, j.overlap, j.jitter, j.next_occurrence_at, j.last_occurrence_at,
       EXISTS (SELECT 1 FROM pawl_job_run o INDEXED BY pawl_job_run_waiting
               WHERE o.job_id = j.id AND o.state = @RUN_WAITING@),
       r.id IS NOT NULL, coalesce(r.started_at, r.ended_at), j.planned_at
FROM (SELECT * FROM (SELECT id FROM pawl_job INDEXED BY pawl_job_next_check
                     WHERE next_check_at <= :now ORDER BY next_check_at LIMIT :limit)
      UNION
      SELECT * FROM (SELECT job_id FROM pawl_job_run INDEXED BY pawl_job_run_pending_events
                     WHERE pending_events > 0 ORDER BY id LIMIT :limit)
      UNION
      SELECT * FROM (SELECT id FROM pawl_job INDEXED BY pawl_job_planned
                     WHERE planned_at > :now + 300000000 ORDER BY planned_at DESC LIMIT :limit)) due
CROSS JOIN pawl_job j ON j.id = due.id
LEFT JOIN pawl_job_run r ON r.id = j.awaited_run;

SELECT @JOB_DUE_EVENT@, job_id, pending_events, id FROM pawl_job_run INDEXED BY pawl_job_run_pending_events
WHERE pending_events > 0 ORDER BY id LIMIT :limit;

-- name: job_advance
-- Apply the scheduler's decisions: all steps of a job, or none if the job has changed since it was read or if
-- the clock was set back since then. The steps are 0 update the job, 1 acknowledge events, 2 start the first
-- waiting run, 3 record skipped occurrences, 4 an occurrence that runs, waits or is skipped, as the job's
-- overlap setting requires. Returns what was done: 0, job; 3 or 4, job, state of the run; 5, job, step: a
-- message was enqueued.
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;

-- @each
UPDATE OR FAIL pawl_job
SET next_occurrence_at = :occurrence, next_due_at = :due, next_check_at = coalesce(:next_check_at, 9223372036854775807),
    last_occurrence_at = CASE WHEN :rewinds OR :last_occurrence > coalesce(last_occurrence_at, :last_occurrence - 1)
                        THEN :last_occurrence ELSE last_occurrence_at END,
    planned_at = :planned_at, since = :since, anchor = :anchor, awaited_run = CASE WHEN :awaits THEN awaited_run END,
    created_at = coalesce(created_at, :now), updated_at = coalesce(updated_at, :now),
    sweep_due_at = CASE WHEN :last_occurrence IS NULL AND NOT :rewinds THEN sweep_due_at ELSE min(sweep_due_at, :now + 60000000) END,
    problem = :problem, version = version + 1, tick = :tick
WHERE :step = @JOB_STEP_MOVE@ AND id = :job_id AND version = :seen AND :planned_at <= :now;
-- @each
SELECT @JOB_STEP_MOVE@, :job_id, 0 WHERE :step = @JOB_STEP_MOVE@ AND changes() = 1;
-- The clock was set back: future occurrences were not missed.
-- @each
DELETE FROM pawl_job_run
WHERE :rewinds AND :step = @JOB_STEP_MOVE@ AND job_id = :job_id AND state = @RUN_SKIPPED@ AND scheduled_at > :now AND NOT triggered
  AND (SELECT tick FROM pawl_job WHERE id = :job_id) = :tick;

-- @each
UPDATE OR FAIL pawl_job_run SET pending_events = 0
WHERE :step = @JOB_STEP_EVENT@ AND id = :run_id AND pending_events = :seen
  AND (SELECT tick FROM pawl_job WHERE id = :job_id) = :tick;

-- @each
INSERT OR IGNORE INTO pawl_lane (topic, priority, destination)
SELECT topic, priority, coalesce(destination, '') FROM pawl_job
WHERE :step IN (@JOB_STEP_PROMOTE@, @JOB_STEP_RUN@) AND id = :job_id AND tick = :tick;

-- Every run waits first.
-- @each
INSERT OR IGNORE INTO pawl_job_run (job_id, state, reason, scheduled_at, last_occurrence_at, occurrences, occurrences_more,
                                    created_at)
SELECT id, CASE WHEN runs THEN @RUN_WAITING@ ELSE @RUN_SKIPPED@ END,
       CASE WHEN runs THEN @RUN_NO_REASON@ WHEN :step = @JOB_STEP_SKIP@ THEN @RUN_MISFIRE@ ELSE @RUN_OVERLAP@ END,
       :occurrence, coalesce(:last_occurrence, :occurrence), coalesce(:occurrences, 1), coalesce(:occurrences_more, 0), :now
FROM (SELECT j.id,
             :step = @JOB_STEP_RUN@
             AND (j.overlap = 'allow'
                  OR NOT EXISTS (SELECT 1 FROM pawl_job_run o INDEXED BY pawl_job_run_open
                                 WHERE o.job_id = j.id AND o.state IN (@RUN_STATES_UNFINISHED@))
                  OR :in_line
                  OR (j.overlap = 'queue'
                      AND NOT EXISTS (SELECT 1 FROM pawl_job_run o INDEXED BY pawl_job_run_waiting
                                      WHERE o.job_id = j.id AND o.state = @RUN_WAITING@))) AS runs
      FROM pawl_job j
      WHERE :step IN (@JOB_STEP_SKIP@, @JOB_STEP_RUN@) AND j.id = :job_id AND j.tick = :tick);
-- @each
SELECT :step, :job_id, state FROM pawl_job_run
WHERE id = last_insert_rowid() AND changes() = 1 AND :step IN (@JOB_STEP_SKIP@, @JOB_STEP_RUN@);
-- "From start": nothing else until this run is claimed; if it is skipped, the next occurrence is computed
-- again.
-- @each
UPDATE OR FAIL pawl_job
SET awaited_run = CASE WHEN r.state = @RUN_WAITING@ THEN r.id END,
    since = CASE WHEN r.state = @RUN_WAITING@ THEN since ELSE :now END,
    next_check_at = CASE WHEN r.state = @RUN_WAITING@ THEN next_check_at ELSE 0 END
FROM (SELECT id, state FROM pawl_job_run WHERE id = last_insert_rowid() AND changes() = 1) r
WHERE :step = @JOB_STEP_RUN@ AND :awaits AND pawl_job.id = :job_id;
-- It has already run, before the clock was set back.
-- @each
UPDATE OR FAIL pawl_job SET since = :now, next_check_at = 0
WHERE :step = @JOB_STEP_RUN@ AND :awaits AND id = :job_id AND tick = :tick AND awaited_run IS NULL AND next_check_at > 0;

-- @each
-- @include job_message
FROM pawl_job j
CROSS JOIN pawl_job_run r
        ON r.id = (SELECT min(w.id) FROM pawl_job_run w INDEXED BY pawl_job_run_waiting
                   WHERE w.job_id = j.id AND w.state = @RUN_WAITING@)
WHERE :step IN (@JOB_STEP_PROMOTE@, @JOB_STEP_RUN@) AND j.id = :job_id AND j.tick = :tick
  AND (j.overlap = 'allow'
       OR NOT EXISTS (SELECT 1 FROM pawl_job_run o INDEXED BY pawl_job_run_open
                      WHERE o.job_id = j.id AND o.state IN (@RUN_STATES_UNFINISHED@) AND o.state <> @RUN_WAITING@));
-- @each
-- @include job_queue
-- @each
UPDATE OR FAIL pawl_job_run SET state = @STATE_READY@, work_id = last_insert_rowid(), message_id = :message_id
WHERE id = (SELECT run_id FROM pawl_body WHERE id = last_insert_rowid()) AND changes() = 1;
-- @each
SELECT @JOB_STEP_STARTED@, :job_id, :step WHERE changes() = 1 AND :step IN (@JOB_STEP_PROMOTE@, @JOB_STEP_RUN@);

-- name: job_runs
-- A job's history (:job NULL: of all jobs), newest first. Scans at most :scan rows. Returns the columns of
-- job_run, whether the row matches (the last scanned row is always returned, so that the next page can start
-- there) and whether the scan ended at its limit.
WITH seen AS MATERIALIZED (
    SELECT id FROM pawl_job_run INDEXED BY pawl_job_run_job
    WHERE job_id = (SELECT id FROM pawl_job WHERE name = :job) AND id < :before
    ORDER BY id DESC LIMIT :scan),
-- @include runs_of_seen
WHERE :job IS NOT NULL AND (matches OR id = (SELECT min(id) FROM seen))
LIMIT :limit;

WITH seen AS MATERIALIZED (
    SELECT id FROM pawl_job_run
    WHERE :job IS NULL AND id < :before
    ORDER BY id DESC LIMIT :scan),
-- @include runs_of_seen
WHERE matches OR id = (SELECT min(id) FROM seen)
LIMIT :limit;

-- name: job_run
-- One run with its output.
-- @include run_columns row=r name=part:run_job
FROM pawl_job_run r WHERE r.id = :id;

-- name: job_clean
-- Delete the history that a job's retention does not keep: beyond the newest keep_runs runs and as many skips,
-- or older than keep_age. Runs that have not ended and runs with unread events stay. So do, after the clock was
-- set back, future occurrences, which must not run again. Returns (0, number of jobs read), then (number of
-- removed runs, 0).
SELECT 0, count(*) FROM (SELECT 1 FROM pawl_job INDEXED BY pawl_job_sweep
                         WHERE sweep_due_at < 9223372036854775807 AND sweep_due_at <= :now LIMIT :limit);

DELETE FROM pawl_job_run
WHERE id IN (SELECT past.id
             FROM (SELECT r.id, r.state, r.pending_events, r.scheduled_at, due.keep_runs,
                          coalesce(r.ended_at, r.created_at) <= :now - min(due.keep_age, 3155760000000000) AS is_old,
                          row_number() OVER (PARTITION BY r.job_id, r.state = @RUN_SKIPPED@ ORDER BY r.id DESC) AS place
                   FROM (SELECT * FROM pawl_job INDEXED BY pawl_job_sweep
                         WHERE sweep_due_at < 9223372036854775807 AND sweep_due_at <= :now
                         ORDER BY sweep_due_at LIMIT :limit) due
                   CROSS JOIN pawl_job_run r INDEXED BY pawl_job_run_job ON r.job_id = due.id) past
             WHERE past.state NOT IN (@RUN_STATES_UNFINISHED@) AND past.pending_events = 0 AND past.scheduled_at <= :now
               AND (past.place > past.keep_runs OR past.is_old)
             LIMIT 10 * :limit);

SELECT changes(), 0;

-- If all of it was deleted, check again when the oldest run gets too old. (A new run or skip makes it earlier.)
-- Not now, because runs with unread events stay at any age.
UPDATE OR FAIL pawl_job
SET sweep_due_at = max(:now + 1000000,
                   coalesce((SELECT min(coalesce(r.ended_at, r.created_at))
                             FROM pawl_job_run r INDEXED BY pawl_job_run_job
                             WHERE r.job_id = pawl_job.id AND r.state NOT IN (@RUN_STATES_UNFINISHED@)) + keep_age,
                            9223372036854775807))
WHERE changes() < 10 * :limit
  AND id IN (SELECT id FROM pawl_job INDEXED BY pawl_job_sweep
             WHERE sweep_due_at < 9223372036854775807 AND sweep_due_at <= :now ORDER BY sweep_due_at LIMIT :limit);

-- A manual change. The library's statements increment the version themselves.
DROP TRIGGER IF EXISTS pawl_job_changed_by_user;
CREATE TRIGGER pawl_job_changed_by_user AFTER UPDATE OF schedule, zone, enabled, jitter ON pawl_job
WHEN new.version = old.version
BEGIN
    UPDATE pawl_job
    SET version = version + 1, next_check_at = 0, problem = NULL, next_occurrence_at = NULL, next_due_at = NULL,
        since = NULL, awaited_run = NULL,
        anchor = CASE WHEN old.schedule = new.schedule THEN anchor END
    WHERE id = new.id;
END;

-- A manual correction of a job whose message could not be stored: the scheduler tries it at once.
DROP TRIGGER IF EXISTS pawl_job_corrected;
CREATE TRIGGER pawl_job_corrected
AFTER UPDATE OF name, topic, payload, type, destination, headers, correlation_id, priority, max_attempts,
                retry_base, retry_max, retry_jitter, ttl, timeout, lease, heartbeat ON pawl_job
WHEN new.version = old.version AND old.problem IS NOT NULL
BEGIN
    UPDATE pawl_job SET version = version + 1, next_check_at = 0, problem = NULL WHERE id = new.id;
END;

-- The history follows the queue. The statements claim, abandon, release and reap record when a run is claimed;
-- this trigger records its end, however it ends. (A trigger on UPDATE would cost every claim a temporary
-- table.) An event is recorded for the scheduler when a run that it waits for is claimed, or when a run ends
-- while others may wait.
DROP TRIGGER IF EXISTS pawl_queue_run_ended;
CREATE TRIGGER pawl_queue_run_ended AFTER DELETE ON pawl_queue
WHEN old.run_id IS NOT NULL
BEGIN
    UPDATE OR FAIL pawl_job_run
    SET state = o.state, ended_at = o.finished_at, error = o.error, output = o.output,
        attempts = CASE o.state WHEN @STATE_DONE@ THEN old.retries + 1 WHEN @STATE_FAILED@ THEN o.retries
                                ELSE old.retries + (old.fence <> 0) END,
        pending_events = pending_events + EXISTS (SELECT 1 FROM pawl_job
                              WHERE id = job_id
                                AND (awaited_run = old.run_id OR overlap = 'queue'
                                     OR (overlap = 'skip' AND misfire = 'all')))
    FROM (SELECT state, finished_at, retries, error, output FROM pawl_outcome WHERE id = old.id) o
    WHERE pawl_job_run.id = old.run_id;
END;

-- The job's run is nobody's again.
-- @each
UPDATE OR FAIL pawl_job_run
SET state = 0, attempts = (SELECT retries FROM pawl_queue WHERE id = :id),
    error = (SELECT last_error FROM pawl_queue WHERE id = :id)
WHERE id = (SELECT run_id FROM pawl_queue WHERE id = :id AND fence = 0) AND state = 1;

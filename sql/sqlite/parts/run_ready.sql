-- The job's run is nobody's again.
-- @each
UPDATE OR FAIL pawl_job_run SET state = 0, attempts = q.retries, error = q.last_error
FROM (SELECT run_id, retries, last_error FROM pawl_queue WHERE id = :id AND fence = 0) q
WHERE pawl_job_run.id = q.run_id AND pawl_job_run.state = 1;

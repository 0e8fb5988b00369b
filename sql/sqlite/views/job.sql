-- The public views of jobs and their history.
DROP VIEW IF EXISTS pawl_jobs;
CREATE VIEW pawl_jobs AS
    SELECT j.id, j.name AS job_name, j.schedule AS cron_schedule, j.topic, j.payload,
           j.enabled AS is_enabled, j.next_due_at AS next_due_time, r.started_at AS last_run_time,
           CASE r.state WHEN @STATE_READY@ THEN 'ready' WHEN @STATE_RUNNING@ THEN 'running' WHEN @STATE_DONE@ THEN 'done'
                        WHEN @STATE_FAILED@ THEN 'failed' WHEN @STATE_EXPIRED@ THEN 'expired' WHEN @STATE_CANCELLED@ THEN 'cancelled' END AS last_run_status,
           j.zone, j.misfire, j.overlap, j.problem
    FROM pawl_job j
    LEFT JOIN pawl_job_run r ON r.id = (SELECT b.id FROM pawl_job_run b INDEXED BY pawl_job_run_begun
                                        WHERE b.job_id = j.id AND b.started_at IS NOT NULL
                                        ORDER BY b.started_at DESC LIMIT 1);
DROP VIEW IF EXISTS pawl_job_runs;
CREATE VIEW pawl_job_runs AS
    SELECT r.id, r.job_id, j.name AS job_name, r.scheduled_at AS scheduled_time,
           CASE r.state WHEN @STATE_READY@ THEN 'ready' WHEN @STATE_RUNNING@ THEN 'running' WHEN @STATE_DONE@ THEN 'done'
                        WHEN @STATE_FAILED@ THEN 'failed' WHEN @STATE_EXPIRED@ THEN 'expired' WHEN @STATE_CANCELLED@ THEN 'cancelled'
                        WHEN @RUN_WAITING@ THEN 'waiting' ELSE 'skipped' END AS status,
           r.claimed_by, r.claimed_at, max(r.attempts - 1, 0) AS retry_count,
           r.started_at AS start_time, r.ended_at AS end_time, r.output, r.error AS last_error,
           r.triggered, r.occurrences, r.work_id, r.message_id
    FROM pawl_job_run r LEFT JOIN pawl_job j ON j.id = r.job_id;

-- Every job with all its properties.
DROP VIEW IF EXISTS pawl_job_status;
CREATE VIEW pawl_job_status AS
    -- @include job_columns row=j payload='CAST(j.payload AS BLOB)' unfinished=part:job_unfinished \
    --     last_run_at=r.started_at last_run_state=r.state
    FROM pawl_job j
    LEFT JOIN pawl_job_run r ON r.id = (SELECT b.id FROM pawl_job_run b INDEXED BY pawl_job_run_begun
                                        WHERE b.job_id = j.id AND b.started_at IS NOT NULL
                                        ORDER BY b.started_at DESC LIMIT 1);

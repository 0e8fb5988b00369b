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

-- Every job with all its properties. src/core/job_list.c relies on the column order.
DROP VIEW IF EXISTS pawl_job_status;
CREATE VIEW pawl_job_status AS
    SELECT j.id, j.name, j.schedule, j.zone, j.topic, CAST(j.payload AS BLOB) AS payload, j.type,
           j.destination, j.headers, j.correlation_id, j.priority, j.max_attempts, j.retry_base, j.retry_max,
           j.retry_jitter, j.misfire, j.misfire_cap, j.misfire_grace, j.overlap, j.jitter, j.ttl, j.timeout,
           j.lease, j.heartbeat, j.keep_runs, j.keep_age, j.enabled, j.created_at, j.updated_at, j.anchor,
           j.since, j.next_occurrence_at, j.last_occurrence_at, j.awaited_run, j.problem,
           (SELECT count(*) FROM pawl_job_run o INDEXED BY pawl_job_run_open
            WHERE o.job_id = j.id AND o.state IN (@RUN_STATES_UNFINISHED@)) AS unfinished,
           r.started_at AS last_run_at, r.state AS last_run_state
    FROM pawl_job j
    LEFT JOIN pawl_job_run r ON r.id = (SELECT b.id FROM pawl_job_run b INDEXED BY pawl_job_run_begun
                                        WHERE b.job_id = j.id AND b.started_at IS NOT NULL
                                        ORDER BY b.started_at DESC LIMIT 1);

-- Jobs by name: the clock, then the columns of pawl_job_status, without payloads.
SELECT :now, id, name, schedule, zone, topic, NULL, type, destination, headers, correlation_id, priority,
       max_attempts, retry_base, retry_max, retry_jitter, misfire, misfire_cap, misfire_grace, overlap,
       jitter, ttl, timeout, lease, heartbeat, keep_runs, keep_age, enabled, created_at, updated_at, anchor,
       since, next_slot_at, last_slot_at, awaited_run, problem, unfinished, last_run_at, last_run_state
FROM pawl_job_status
WHERE name > :after
ORDER BY name LIMIT :limit;

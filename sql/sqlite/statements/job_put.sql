-- Create a job or change it. The same schedule and zone keep the next slot; others are computed anew by
-- the scheduler, from now on. Answers whether there was none before.
SELECT NOT EXISTS (SELECT 1 FROM pawl_job WHERE name = :name);

INSERT INTO pawl_job AS j
    (name, schedule, zone, topic, payload, type, destination, headers, correlation_id, priority,
     max_attempts, retry_base, retry_max, retry_jitter, misfire, misfire_cap, misfire_grace, overlap,
     jitter, ttl, timeout, lease, heartbeat, keep_runs, keep_age, enabled, created_at, updated_at, anchor,
     since, sweep_at)
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
    next_slot_at = CASE WHEN j.schedule = excluded.schedule AND j.zone = excluded.zone THEN next_slot_at END,
    next_due_at = CASE WHEN j.schedule = excluded.schedule AND j.zone = excluded.zone THEN next_due_at END,
    awaited_run = CASE WHEN j.schedule = excluded.schedule AND j.zone = excluded.zone THEN awaited_run END,
    look_at = 0, sweep_at = min(sweep_at, excluded.sweep_at), version = version + 1, problem = NULL;

UPDATE pawl_meta SET latest_time = :now WHERE id = 1;

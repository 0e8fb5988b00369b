-- The message of the run r of the job j.
INSERT OR FAIL INTO pawl_body (message_id, topic, priority, type, created_at, due_at, expires_at,
                               max_attempts, lease, retry_base, retry_max, retry_jitter, timeout, heartbeat, run_id,
                               destination, headers, correlation_id, payload)
SELECT :message_id, j.topic, j.priority, j.type, :now, r.scheduled_at,
       :now + coalesce(j.ttl, CASE WHEN j.destination IS NOT NULL THEN 86400000000 END),
       coalesce(j.max_attempts, CASE WHEN j.destination IS NULL THEN 10 ELSE 0 END),
       j.lease, j.retry_base, j.retry_max, j.retry_jitter, j.timeout, j.heartbeat, r.id, j.destination,
       json_patch(coalesce(j.headers, '{}'),
                  json_object('pawl-job', j.name, 'pawl-run', CAST(r.id AS TEXT), 'pawl-scheduled-at',
                              CASE WHEN NOT r.triggered
                                   THEN strftime('%Y-%m-%dT%H:%M:%S', r.scheduled_at / 1000000, 'unixepoch')
                                        || CASE WHEN r.scheduled_at % 1000000 <> 0
                                                THEN printf('.%06d', r.scheduled_at % 1000000) ELSE '' END
                                        || 'Z' END)),
       j.correlation_id, CAST(j.payload AS BLOB)

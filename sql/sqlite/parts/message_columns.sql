-- A message is expired by the store's clock. The view has only the part of it that SQL can read.
SELECT m.id, m.message_id, m.topic, m.payload, m.type, m.destination, m.headers, m.correlation_id, m.priority,
       m.created_at, m.due_at, m.expires_at, m.max_attempts, m.retries,
       CASE WHEN m.state IN (0, 3) AND m.expires_at <= :now THEN 4 ELSE m.state END,
       m.fence, m.owner, m.claimed_by, m.lease_until, m.next_attempt_at, m.finished_at, m.processed_by,
       m.last_error, m.progress, m.timeout, m.heartbeat, m.run_id, m.output, m.deferrals, m.retry_base,
       m.retry_max, m.retry_jitter, m.count_all
FROM pawl_message m

-- Messages sent for later that nobody holds, by due time. Answers the message's columns, whether it
-- matches (the last row looked at is always answered, so that the next page can start there) and
-- whether the walk ended by its bound.
-- @include timer_walk
SELECT m.id, m.message_id, m.topic, CASE WHEN :with_payload THEN m.payload END, m.type, m.destination,
       m.headers, m.correlation_id, m.priority, m.created_at, m.due_at, m.expires_at, m.max_attempts,
       m.retries, CASE WHEN m.state IN (0, 3) AND m.expires_at <= :now THEN 4 ELSE m.state END,
       m.fence, m.owner, m.claimed_by, m.lease_until, m.next_attempt_at,
       m.finished_at, m.processed_by, m.last_error, m.progress, m.timeout, m.heartbeat, m.run_id,
       m.output, m.deferrals, m.retry_base, m.retry_max, m.retry_jitter, m.count_all, s.matches,
       (SELECT count(*) FROM seen) = :scan
FROM seen s CROSS JOIN pawl_message m ON m.id = s.id
WHERE s.matches OR s.id = (SELECT id FROM seen ORDER BY run_at DESC, id DESC LIMIT 1)
LIMIT :limit;

-- The messages of `seen`, as they are by the store's clock (see message_columns.sql).
shown AS (
    SELECT m.*, CASE WHEN m.state IN (0, 3) AND m.expires_at <= :now THEN 4 ELSE m.state END AS state_now
    FROM seen CROSS JOIN pawl_message m ON m.id = seen.id),
matching AS (
    SELECT m.*,
           ((1 << m.state_now) & :states) <> 0
           AND (:topic IS NULL OR m.topic = :topic)
           AND (:correlation_id IS NULL OR m.correlation_id IS :correlation_id)
           AND (:created_before IS NULL OR m.created_at < :created_before) AS matches
    FROM shown m)
SELECT id, message_id, topic, CASE WHEN :with_payload THEN payload END, type, destination, headers,
       correlation_id, priority, created_at, due_at, expires_at, max_attempts, retries, state_now, fence,
       owner, claimed_by, lease_until, next_attempt_at, finished_at, processed_by, last_error,
       progress, timeout, heartbeat, run_id, CASE WHEN :with_payload THEN output END, deferrals, retry_base,
       retry_max, retry_jitter, count_all, matches, (SELECT count(*) FROM seen) = :scan
FROM matching
WHERE matches OR id = (SELECT min(id) FROM seen)
LIMIT :limit;

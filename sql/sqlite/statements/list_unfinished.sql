-- Messages that are not finished, newest first.
-- Looks at :scan rows at most. Answers the message's columns, whether it matches (the last row
-- looked at is always answered, so that the next page can start there) and whether the scan ended
-- by its bound.
WITH seen AS MATERIALIZED (
    SELECT id FROM pawl_queue
    WHERE id < :before
    ORDER BY id DESC LIMIT :scan),
matching AS (
    SELECT m.*,
           ((1 << m.state) & :states) <> 0
           AND (:topic IS NULL OR m.topic = :topic)
           AND (:correlation_id IS NULL OR m.correlation_id IS :correlation_id)
           AND (:created_before IS NULL OR m.created_at < :created_before) AS matches
    FROM seen CROSS JOIN pawl_message m ON m.id = seen.id)
SELECT id, message_id, topic, CASE WHEN :with_payload THEN payload END, type, destination, headers,
       correlation_id, priority, created_at, due_at, expires_at, max_attempts, retries, state, fence,
       owner, claimed_by, lease_until, next_attempt_at, finished_at, processed_by, last_error,
       progress, timeout, heartbeat, run_id, CASE WHEN :with_payload THEN output END, deferrals, retry_base,
       retry_max, retry_jitter, count_all, matches, (SELECT count(*) FROM seen) = :scan
FROM matching
WHERE matches OR id = (SELECT min(id) FROM seen)
LIMIT :limit;

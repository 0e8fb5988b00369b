-- Store messages whose ids were made just now, so that none can be there. One INSERT gives consecutive
-- ids, in the order of the rows, and the queue row has the body's, so the last one inserted tells them
-- all. Answers once, for all: NULL, the first work id, 0, the clock.
-- @include lanes
INSERT OR FAIL INTO pawl_body (message_id, topic, priority, type, created_at, due_at, expires_at,
                               max_attempts, count_all, lease, retry_base, retry_max, retry_jitter, timeout, heartbeat, destination,
                               headers, correlation_id, payload)
SELECT message_id, topic, priority, type, :now, coalesce(due_at, :now + delay, :now),
       coalesce(expires_at, max(coalesce(due_at, :now + delay, :now), :now) + ttl),
       max_attempts, count_all, lease, retry_base, retry_max, retry_jitter, timeout, heartbeat, destination, headers,
       correlation_id, payload
FROM pawli_rows(:rows) r;

INSERT OR FAIL INTO pawl_queue (id, lane_id, run_at, expires_at, lease)
SELECT id,
-- @include lane_of_row
       CASE WHEN due_at > :now THEN due_at ELSE :now END, expires_at, lease
FROM pawl_body b
WHERE id > last_insert_rowid() - (SELECT count(*) FROM pawli_rows(:rows));

SELECT NULL, last_insert_rowid() - (SELECT count(*) FROM pawli_rows(:rows)) + 1, 0, :now;

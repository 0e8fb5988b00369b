-- Store messages whose ids were made just now, so that none can be there. Answers per message:
-- position, work id, 0. One INSERT gives consecutive ids, in the order of the rows; the queue row has
-- the body's, so the last one inserted tells them all.
-- @include lanes
INSERT OR FAIL INTO pawl_body (message_id, lane_id, type, created_at, due_at, expires_at, max_attempts,
                               lease, retry_base, retry_max, retry_jitter, destination, headers,
                               correlation_id, payload)
SELECT message_id,
       -- Mostly they are of one lane, and what does not depend on the row is looked up once.
       CASE (SELECT count(*) FROM pawli_rows(:rows) WHERE other_lane)
           WHEN 1 THEN (SELECT l.id FROM pawli_rows(:rows) f CROSS JOIN pawl_lane l INDEXED BY pawl_lane_name
                        ON l.topic = f.topic AND l.priority = f.priority LIMIT 1)
           ELSE (SELECT id FROM pawl_lane INDEXED BY pawl_lane_name
                 WHERE topic = r.topic AND priority = r.priority) END,
       type, :now, coalesce(due_at, :now + delay, :now),
       coalesce(expires_at, max(coalesce(due_at, :now + delay, :now), :now) + ttl),
       max_attempts, lease, retry_base, retry_max, retry_jitter, destination, headers,
       correlation_id, payload
FROM pawli_rows(:rows) r;

INSERT OR FAIL INTO pawl_queue (id, lane_id, run_at, expires_at, lease)
SELECT id, lane_id, CASE WHEN due_at > :now THEN due_at ELSE :now END, expires_at, lease
FROM pawl_body
WHERE id > last_insert_rowid() - (SELECT count(*) FROM pawli_rows(:rows));

SELECT position, last_insert_rowid() - (SELECT count(*) FROM pawli_rows(:rows)) + 1 + rowid, 0
FROM pawli_rows(:rows);

-- Store messages that may be there already. Answers position, work id, 0 stored | 1 existed |
-- 2 conflict, and the due time; first for those that existed, then for all: a message's first answer
-- counts.
SELECT r.position, b.id,
       CASE WHEN b.topic = r.topic AND b.payload = r.payload
            THEN 1 ELSE 2 END,
       b.due_at
FROM pawli_rows(:rows) r
CROSS JOIN pawl_body b INDEXED BY pawl_body_message ON b.message_id = r.message_id;

-- Lanes that these messages are the first of; a message that exists makes none. Usually no lane is missing,
-- and the messages are not read for it.
INSERT OR IGNORE INTO pawl_lane (topic, priority, destination)
SELECT topic, priority, coalesce(destination, '')
FROM pawli_rows(:rows) r
WHERE EXISTS (SELECT 1 FROM pawli_rows(:rows) f
              WHERE f.other_lane
                AND NOT EXISTS (SELECT 1 FROM pawl_lane l INDEXED BY pawl_lane_name
                                WHERE l.topic = f.topic AND l.priority = f.priority
                                  AND l.destination = coalesce(f.destination, '')))
  AND NOT EXISTS (SELECT 1 FROM pawl_body b INDEXED BY pawl_body_message WHERE b.message_id = r.message_id);

INSERT INTO pawl_body (message_id, topic, priority, type, created_at, due_at, expires_at,
                       max_attempts, count_all, lease, retry_base, retry_max, retry_jitter, timeout, heartbeat, destination,
                       headers, correlation_id, payload)
SELECT message_id, topic, priority, type, :now, coalesce(due_at, :now + delay, :now),
       coalesce(expires_at, max(coalesce(due_at, :now + delay, :now), :now) + ttl),
       max_attempts, count_all, lease, retry_base, retry_max, retry_jitter, timeout, heartbeat, destination, headers,
       correlation_id, payload
FROM pawli_rows(:rows) r
WHERE true
ON CONFLICT (message_id) DO NOTHING;

-- A message that existed has a queue row (ignored) or an outcome, and keeps it.
INSERT OR IGNORE INTO pawl_queue (id, lane_id, run_at, expires_at, lease)
SELECT b.id,
       (SELECT l.id FROM pawl_lane l INDEXED BY pawl_lane_name
        WHERE l.topic = b.topic AND l.priority = b.priority AND l.destination = coalesce(b.destination, '')),
       CASE WHEN b.due_at > :now THEN b.due_at ELSE :now END, b.expires_at, b.lease
FROM pawli_rows(:rows) r
CROSS JOIN pawl_body b INDEXED BY pawl_body_message ON b.message_id = r.message_id
WHERE NOT EXISTS (SELECT 1 FROM pawl_outcome WHERE id = b.id);

SELECT r.position, b.id, 0, b.due_at
FROM pawli_rows(:rows) r
CROSS JOIN pawl_body b INDEXED BY pawl_body_message ON b.message_id = r.message_id;

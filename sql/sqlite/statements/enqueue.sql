-- Store messages. Answers per message: position, work id, 0 stored | 1 existed | 2 conflict.
-- @each
INSERT OR IGNORE INTO pawl_lane (topic, priority) VALUES (:topic, :priority);
-- @each
INSERT INTO pawl_body (message_id, lane_id, type, created_at, due_at, expires_at, max_attempts,
                       lease, retry_base, retry_max, retry_jitter, destination, headers,
                       correlation_id, payload)
VALUES (:message_id,
        (SELECT id FROM pawl_lane INDEXED BY pawl_lane_name
         WHERE topic = :topic AND priority = :priority),
        :type, :now, coalesce(:due_at, :now + coalesce(:delay, 0)),
        coalesce(:expires_at, max(coalesce(:due_at, :now + coalesce(:delay, 0)), :now) + :ttl),
        :max_attempts, :lease, :retry_base, :retry_max, :retry_jitter, :destination, :headers,
        :correlation_id, :payload)
ON CONFLICT (message_id) DO NOTHING;
-- A message that existed has a queue row (ignored) or an outcome, and keeps it. (A function call here
-- would cost a statement journal for every row.)
-- @each
INSERT OR IGNORE INTO pawl_queue (id, lane_id, run_at, expires_at, lease)
SELECT id, lane_id, CASE WHEN due_at > :now THEN due_at ELSE :now END, expires_at, lease
FROM pawl_body b INDEXED BY pawl_body_message
WHERE message_id = :message_id
  AND NOT EXISTS (SELECT 1 FROM pawl_outcome WHERE id = b.id);
-- The body and the queue row have the same id, so the last one inserted is the answer.
-- @each
SELECT :position,
       CASE WHEN changes() = 1 THEN last_insert_rowid()
            ELSE (SELECT id FROM pawl_body INDEXED BY pawl_body_message
                  WHERE message_id = :message_id) END,
       CASE WHEN changes() = 1 THEN 0
            ELSE (SELECT CASE WHEN l.topic = :topic AND b.payload = :payload THEN 1 ELSE 2 END
                  FROM pawl_body b INDEXED BY pawl_body_message
                  CROSS JOIN pawl_lane l ON l.id = b.lane_id
                  WHERE b.message_id = :message_id) END;

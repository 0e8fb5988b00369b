-- Store messages. Answers per message: position, work id, 0 stored | 1 existed | 2 conflict.
-- @each
INSERT OR IGNORE INTO pawl_lane (topic, priority) VALUES (:topic, :priority);
-- @each
INSERT INTO pawl_body (message_id, lane_id, type, created_at, due_at, expires_at, max_attempts,
                       lease, retry_base, retry_max, retry_jitter, destination, headers,
                       correlation_id, payload)
VALUES (:message_id,
        (SELECT id FROM pawl_lane WHERE topic = :topic AND priority = :priority),
        :type, :now, coalesce(:due_at, :now + coalesce(:delay, 0)),
        coalesce(:expires_at, max(coalesce(:due_at, :now + coalesce(:delay, 0)), :now) + :ttl),
        :max_attempts, :lease, :retry_base, :retry_max, :retry_jitter, :destination, :headers,
        :correlation_id, :payload)
ON CONFLICT (message_id) DO NOTHING;
-- Only if the body is new: a message that existed may be finished, and stays so.
-- @each
INSERT OR FAIL INTO pawl_queue (id, lane_id, run_at, expires_at, lease)
SELECT id, lane_id, max(due_at, :now), expires_at, lease
FROM pawl_body WHERE id = last_insert_rowid() AND changes() = 1;
-- The body and the queue row have the same id, so the last one inserted is the answer.
-- @each
SELECT :position,
       CASE WHEN changes() = 1 THEN last_insert_rowid()
            ELSE (SELECT id FROM pawl_body WHERE message_id = :message_id) END,
       CASE WHEN changes() = 1 THEN 0
            ELSE (SELECT CASE WHEN l.topic = :topic AND b.payload = :payload THEN 1 ELSE 2 END
                  FROM pawl_body b CROSS JOIN pawl_lane l ON l.id = b.lane_id
                  WHERE b.message_id = :message_id) END;

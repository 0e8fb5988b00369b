-- sql/postgres/enqueue.sql - store messages.

-- name: enqueue
-- Store messages. Returns per message: position, work id, 0 stored | 1 existed | 2 conflict | 3 busy.
SELECT * FROM pawl.enqueue_batch(
    -- @include message_rows
    , fresh => false);

-- name: enqueue_fresh
-- Store messages whose ids were just generated and cannot exist. Returns per message: position, work id, 0.
SELECT * FROM pawl.enqueue_batch(
    -- @include message_rows
    , fresh => true);

-- name: enqueue_plain
-- Store new messages without options that differ only in id and payload. Returns per message: position, work
-- id, 0.
SELECT * FROM pawl.enqueue_plain(
    positions => :position, message_ids => :message_id, payloads => :payload, topic => (:topic)[1],
    priority => (:priority)[1], type => (:type)[1], max_attempts => (:max_attempts)[1]);

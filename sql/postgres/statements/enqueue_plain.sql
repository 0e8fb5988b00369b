-- Store new messages that differ in nothing but id and payload, and have no options. Answers per
-- message: position, work id, 0.
SELECT * FROM pawl.enqueue_plain(
    positions => :position, message_ids => :message_id, payloads => :payload, topic => (:topic)[1],
    priority => (:priority)[1], type => (:type)[1], max_attempts => (:max_attempts)[1]);

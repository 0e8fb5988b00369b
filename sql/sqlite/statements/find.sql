-- One message by its message id.
SELECT * FROM pawl_message
WHERE id = (SELECT id FROM pawl_body INDEXED BY pawl_body_message WHERE message_id = :message_id);

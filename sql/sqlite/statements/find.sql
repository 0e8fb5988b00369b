-- One message by its message id.
SELECT * FROM pawl_message WHERE id = (SELECT id FROM pawl_body WHERE message_id = :message_id);

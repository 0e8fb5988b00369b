-- One message by its message id.
-- @include message_columns
WHERE m.id = (SELECT id FROM pawl_body INDEXED BY pawl_body_message WHERE message_id = :message_id);

-- One message by its work id.
-- @include message_columns
WHERE m.id = :id;

-- One message by its work id.
SELECT * FROM pawl_message WHERE id = :id;

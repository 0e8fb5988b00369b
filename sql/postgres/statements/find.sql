-- One message by its message id.
SELECT * FROM pawl.find(message_id => :message_id);

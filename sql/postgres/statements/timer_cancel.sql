-- End messages that nobody has begun with.
SELECT pawl.unschedule(message_ids => :message_id);

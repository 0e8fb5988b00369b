-- Topics with a message that is due now, for local handlers and not paused.
SELECT * FROM pawl.topics_due(max_rows => :limit);

-- Whether the dead letters of a topic, or of all ('' as its name), are recorded for a handler.
SELECT pawl.topic_dead(topic => :topic, wanted => :wanted);

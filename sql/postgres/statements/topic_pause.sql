-- Nothing of the topic is claimed from now on.
SELECT pawl.topic_pause(topic => :topic);

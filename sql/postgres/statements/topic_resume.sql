-- Claims look at the topic again.
SELECT pawl.topic_resume(topic => :topic);

-- Every topic that has had a message or of which something was said.
SELECT * FROM pawl.topic_list();

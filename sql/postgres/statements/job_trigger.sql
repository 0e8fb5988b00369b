-- A run outside the schedule.
SELECT * FROM pawl.job_fire(name => :name, forced => :force, message_id => :message_id);

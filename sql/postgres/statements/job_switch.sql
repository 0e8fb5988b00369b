-- Enable or disable a job. Answers whether there is such a job, and whether that was a change.
SELECT * FROM pawl.job_switch(name => :name, enabled => :enabled);

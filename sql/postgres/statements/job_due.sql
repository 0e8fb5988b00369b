-- What the scheduler has to look at.
SELECT * FROM pawl.job_due(max_rows => :limit);

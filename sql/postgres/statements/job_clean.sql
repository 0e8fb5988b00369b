-- Forget what the jobs do not want to keep of their history.
SELECT * FROM pawl.job_clean(max_rows => :limit);

-- Forget what the jobs do not want to keep of their history.
SELECT pawl.job_clean(max_rows => :limit);

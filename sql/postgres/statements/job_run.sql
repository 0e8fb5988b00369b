-- One run with its output.
SELECT * FROM pawl.job_run_get(id => :id);

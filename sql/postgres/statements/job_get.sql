-- One job by its name: the clock, then the columns of job_status.
SELECT pawl.now(), s.* FROM pawl.job_get(name => :name) s;

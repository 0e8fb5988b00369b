-- Jobs by name: the clock, then the columns of job_status, without payloads.
SELECT pawl.now(), s.* FROM pawl.job_list(after => :after, max_rows => :limit) s;

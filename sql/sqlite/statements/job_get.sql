-- One job by its name: the clock, then the columns of pawl_job_status.
SELECT :now, s.* FROM pawl_job_status s WHERE s.name = :name;

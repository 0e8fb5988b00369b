-- A job's history, newest first.
SELECT * FROM pawl.job_run_list(
    job => :job, states => :states, before => :before, max_rows => :limit, scan => :scan,
    with_output => :with_output);

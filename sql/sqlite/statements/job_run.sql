-- One run with its output.
-- @include run_columns
       r.output
FROM pawl_job_run r WHERE r.id = :id;

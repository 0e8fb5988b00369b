-- A job's history (:job NULL: of all), newest first. Looks at :scan rows at most. Answers the columns of
-- job_run, whether it matches (the last row looked at is always answered, so that the next page can start
-- there) and whether the scan ended by its bound.
WITH seen AS MATERIALIZED (
    SELECT id FROM pawl_job_run INDEXED BY pawl_job_run_job
    WHERE job_id = (SELECT id FROM pawl_job WHERE name = :job) AND id < :before
    ORDER BY id DESC LIMIT :scan),
matching AS (
    SELECT h.*, ((1 << h.state) & :states) <> 0 AS matches
    FROM seen CROSS JOIN pawl_job_run h ON h.id = seen.id)
-- @include run_columns
       CASE WHEN :with_output THEN r.output END, matches, (SELECT count(*) FROM seen) = :scan
FROM matching r
WHERE :job IS NOT NULL AND (matches OR id = (SELECT min(id) FROM seen))
LIMIT :limit;

WITH seen AS MATERIALIZED (
    SELECT id FROM pawl_job_run
    WHERE :job IS NULL AND id < :before
    ORDER BY id DESC LIMIT :scan),
matching AS (
    SELECT h.*, ((1 << h.state) & :states) <> 0 AS matches
    FROM seen CROSS JOIN pawl_job_run h ON h.id = seen.id)
-- @include run_columns
       CASE WHEN :with_output THEN r.output END, matches, (SELECT count(*) FROM seen) = :scan
FROM matching r
WHERE matches OR id = (SELECT min(id) FROM seen)
LIMIT :limit;

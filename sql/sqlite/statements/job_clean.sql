-- Forget what the jobs whose history is to be looked at do not want to keep: beyond the newest keep_runs
-- runs and as many skips, or too old. What has not ended stays, what the scheduler has not heard of, and,
-- when the clock was set back, what is still to come: it must not run again.
-- Answers 0 and how many jobs are read; then how many runs were removed and 0.
SELECT 0, count(*) FROM (SELECT 1 FROM pawl_job INDEXED BY pawl_job_sweep
                         WHERE sweep_at < 9223372036854775807 AND sweep_at <= :now LIMIT :limit);

DELETE FROM pawl_job_run
WHERE id IN (SELECT past.id
             FROM (SELECT r.id, r.state, r.news, r.scheduled_at, due.keep_runs,
                          coalesce(r.ended_at, r.created_at) <= :now - min(due.keep_age, 3155760000000000) AS is_old,
                          row_number() OVER (PARTITION BY r.job_id, r.state = 7 ORDER BY r.id DESC) AS place
                   FROM (SELECT * FROM pawl_job INDEXED BY pawl_job_sweep
                         WHERE sweep_at < 9223372036854775807 AND sweep_at <= :now
                         ORDER BY sweep_at LIMIT :limit) due
                   CROSS JOIN pawl_job_run r INDEXED BY pawl_job_run_job ON r.job_id = due.id) past
             WHERE past.state NOT IN (0, 1, 6) AND past.news = 0 AND past.scheduled_at <= :now
               AND (past.place > past.keep_runs OR past.is_old)
             LIMIT 10 * :limit);

SELECT changes(), 0;

-- If all of it is gone: again when the oldest gets too old. (A run or a skip brings it forward.) Not now:
-- what the scheduler has not heard of stays, however old.
UPDATE OR FAIL pawl_job
SET sweep_at = max(:now + 1000000,
                   coalesce((SELECT min(coalesce(r.ended_at, r.created_at))
                             FROM pawl_job_run r INDEXED BY pawl_job_run_job
                             WHERE r.job_id = pawl_job.id AND r.state NOT IN (0, 1, 6)) + keep_age,
                            9223372036854775807))
WHERE changes() < 10 * :limit
  AND id IN (SELECT id FROM pawl_job INDEXED BY pawl_job_sweep
             WHERE sweep_at < 9223372036854775807 AND sweep_at <= :now ORDER BY sweep_at LIMIT :limit);

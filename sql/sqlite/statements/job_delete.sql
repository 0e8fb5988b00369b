-- Remove a job and its history. What nobody has begun with is cancelled. Answers 0 and how many, several
-- times; then 1 and how many jobs that were.
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;

INSERT OR FAIL INTO pawl_outcome (id, state, finished_at, retries, error, progress)
SELECT q.id, 5, :now, q.retries, q.last_error, q.progress
FROM pawl_job j
CROSS JOIN pawl_job_run r INDEXED BY pawl_job_run_open ON r.job_id = j.id AND r.state IN (0, 1, 6)
CROSS JOIN pawl_queue q ON q.id = r.work_id
WHERE j.name = :name AND q.fence = 0;

SELECT 0, changes();

UPDATE OR FAIL pawl_tally
SET cancelled = cancelled + gone.n
FROM (SELECT q.lane_id, count(*) AS n
      FROM pawl_job j
      CROSS JOIN pawl_job_run r INDEXED BY pawl_job_run_open ON r.job_id = j.id AND r.state IN (0, 1, 6)
      CROSS JOIN pawl_queue q ON q.id = r.work_id
      WHERE j.name = :name AND q.fence = 0
      GROUP BY q.lane_id) gone
WHERE pawl_tally.lane_id = gone.lane_id;

DELETE FROM pawl_queue
WHERE id IN (SELECT q.id
             FROM pawl_job j
             CROSS JOIN pawl_job_run r INDEXED BY pawl_job_run_open ON r.job_id = j.id AND r.state IN (0, 1, 6)
             CROSS JOIN pawl_queue q ON q.id = r.work_id
             WHERE j.name = :name AND q.fence = 0);

SELECT 0, count(*)
FROM pawl_job j
CROSS JOIN pawl_job_run r INDEXED BY pawl_job_run_open ON r.job_id = j.id AND r.state IN (0, 1, 6)
WHERE j.name = :name AND r.state = 6;

DELETE FROM pawl_job_run WHERE job_id = (SELECT id FROM pawl_job WHERE name = :name);

DELETE FROM pawl_job WHERE name = :name;

SELECT 1, changes();

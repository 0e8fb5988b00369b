-- Remove a job and its history. Answers 0 and how many runs were cancelled, then 1 and how many jobs
-- that were.
SELECT 1 - n.kind, CASE n.kind WHEN 1 THEN coalesce(r.cancelled, 0) ELSE (r.cancelled IS NOT NULL)::integer END
FROM pawl.job_remove(name => :name) AS r(cancelled), generate_series(0, 1) AS n(kind);

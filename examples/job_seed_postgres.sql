-- examples/job_seed_postgres.sql - creates the job that examples/job.c handles: every ten minutes, five seconds.
--
-- Nothing else is needed: the scheduler of any worker reads the row and computes the first occurrence.
-- To change the duration: UPDATE pawl.job SET payload = '20' WHERE name = 'sample';
INSERT INTO pawl.job (name, schedule, topic, payload)
VALUES ('sample', 'every 10m from start', 'sample', '5')
ON CONFLICT (name) DO NOTHING;

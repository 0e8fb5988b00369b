-- examples/job_seed_postgres.sql - the job that examples/job.c works for: every ten minutes, five seconds.
--
-- Nothing else is needed: the scheduler of any worker sees the row and computes the first slot.
-- To change how long it works: UPDATE pawl.job SET payload = '20' WHERE name = 'sample';
INSERT INTO pawl.job (name, schedule, topic, payload)
VALUES ('sample', 'every 10m from start', 'sample', '5')
ON CONFLICT (name) DO NOTHING;

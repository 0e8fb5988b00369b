-- Remove the schema of a temporary store, but do not wait for a session that uses it.
SET LOCAL lock_timeout = '5s';
DROP SCHEMA IF EXISTS pawl CASCADE;

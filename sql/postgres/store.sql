-- sql/postgres/store.sql - the clock and the roles.

-- name: now
-- The database's clock.
SELECT pawl.now();

-- name: clock_reset
-- Set back every time that was written while the server's clock was ahead.
SELECT * FROM pawl.clock_reset(force => :force, dry_run => :dry_run);

-- name: grant_roles
-- Make the roles and grant them their rights. Answers the names of those that may not be made, or NULL.
SELECT pg_catalog.array_to_string(nullif(pawl.grant_roles(), '{}'::text[]), ', ');

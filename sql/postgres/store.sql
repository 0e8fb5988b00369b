-- sql/postgres/store.sql - the clock and the roles.

-- name: now
-- The database's clock.
SELECT pawl.now();

-- name: clock_reset
-- Correct every time that was written while the server's clock was ahead.
SELECT * FROM pawl.clock_reset(force => :force, dry_run => :dry_run);

-- name: grant_roles
-- Create the roles and grant their privileges. Returns the names of roles that may not be created, or NULL.
SELECT pg_catalog.array_to_string(nullif(pawl.grant_roles(), '{}'::text[]), ', ');

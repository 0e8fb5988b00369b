-- sql/postgres/wakeup.sql - when the next message is ready, and which workers are idle.

-- name: next_due
-- The clock, and when the next message becomes ready after it.
SELECT * FROM pawl.next_due(topics => :topics, destinations => :destinations, others => :others);

-- name: destinations
-- Destinations by name, and whether they have unfinished messages.
SELECT * FROM pawl.destinations(after => :after, scan => :scan);

-- name: wake
-- Make the messages that wait for another attempt at a destination due now.
SELECT pawl.wake_destination(destination => :destination, max_rows => :limit, error_prefix => :error_prefix);

-- name: idle
-- Register an idle worker, or with present = false only send its notification to itself.
SELECT * FROM pawl.idle(idle_worker => :idle_worker, present => :present);

-- name: busy
-- Remove an idle worker.
SELECT * FROM pawl.busy(idle_worker => :idle_worker);

-- name: snapshot_passed
-- Whether all transactions from before the epoch have ended. NULL starts a new epoch.
SELECT * FROM pawl.snapshot_passed(epoch => :epoch);

-- sql/postgres/wakeup.sql - when the next message is ready, and who waits for it.

-- name: next_due
-- The clock, and when the next message is ready after it.
SELECT * FROM pawl.next_due(topics => :topics, destinations => :destinations, others => :others);

-- name: destinations
-- Destinations by name, and whether there are unfinished messages for them.
SELECT * FROM pawl.destinations(after => :after, scan => :scan);

-- name: wake
-- What waits for another attempt at a destination is due now.
SELECT pawl.wake_destination(destination => :destination, max_rows => :limit);

-- name: idle
-- A sleeping worker, or with present = false only its notification to itself.
SELECT * FROM pawl.idle(idle_worker => :idle_worker, present => :present);

-- name: busy
-- No longer asleep.
SELECT * FROM pawl.busy(idle_worker => :idle_worker);

-- name: snapshot_passed
-- Whether all transactions from before the epoch have ended; NULL: begins one.
SELECT * FROM pawl.snapshot_passed(epoch => :epoch);

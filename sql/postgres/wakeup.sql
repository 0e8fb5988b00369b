-- sql/postgres/wakeup.sql - when the next message is ready, and at which destinations.

-- name: next_due
-- The clock, and when the next message becomes ready after it.
SELECT * FROM pawl.next_due(topics => :topics, destinations => :destinations, others => :others);

-- name: destinations
-- Destinations by name, and whether they have unfinished messages.
SELECT * FROM pawl.destinations(after => :after, scan => :scan);

-- name: wake
-- Make the messages that wait for another attempt at a destination due now.
SELECT pawl.wake_destination(destination => :destination, max_rows => :limit, error_prefix => :error_prefix);

-- sql/postgres/maintenance.sql - what runs beside the handlers.

-- name: reap
-- Expired leases: ready again, or failed at the last attempt.
SELECT * FROM pawl.reap_batch(max_rows => :limit, cursor_since => :cursor_since);

-- name: expire
-- What is past its time to live.
SELECT pawl.expire(max_rows => :limit);

-- name: prune
-- Forget what was done or cancelled longer than :keep ago, and totals that did not change since then.
SELECT * FROM pawl.prune_batch(keep => :keep, max_rows => :limit);

-- name: compact_stats
-- Remove empty lanes and move the deltas into the tally.
SELECT * FROM pawl.compact_stats_batch(max_rows => :limit);

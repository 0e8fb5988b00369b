-- sql/postgres/maintenance.sql - maintenance.

-- name: reap
-- Messages with an expired lease become ready again, or fail on their last attempt.
SELECT * FROM pawl.reap_batch(max_rows => :limit, cursor_since => :cursor_since);

-- name: expire
-- Expire messages that are past their time to live.
SELECT pawl.expire(max_rows => :limit);

-- name: prune
-- Delete messages that were done or cancelled longer than :keep ago, and counts that did not change since then.
SELECT * FROM pawl.prune_batch(keep => :keep, max_rows => :limit);

-- name: compact_stats
-- Remove empty lanes and merge the deltas into the counts.
SELECT c.changed, c.scanned, 0::bigint FROM pawl.compact_stats_batch(max_rows => :limit) c;

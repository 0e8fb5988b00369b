-- Failed for good: a dead letter, kept until it is redriven or purged.
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;
-- @each
INSERT OR FAIL INTO pawl_outcome (id, state, finished_at, retries, processed_by, error, expires_at, progress)
SELECT q.id, 3, :now, q.retries + 1, c.owner_name, coalesce(:error, q.last_error), q.expires_at, q.progress
FROM pawl_queue q LEFT JOIN pawl_claim c ON c.fence = q.fence
WHERE q.id = :id AND q.fence = :fence AND q.owner = :owner AND q.fence <> 0;
-- @each
UPDATE OR FAIL pawl_tally SET held = held - 1, failed = failed + 1
WHERE lane_id = (SELECT lane_id FROM pawl_queue WHERE id = :id) AND changes() = 1;
-- @each
DELETE FROM pawl_queue WHERE id = :id AND changes() = 1;
-- @each
SELECT changes();
-- The dead-letter handler is to be called, if that was asked for.
-- @each
INSERT OR IGNORE INTO pawl_dead (id, run_at)
SELECT b.id, :now FROM pawl_body b
WHERE b.id = :id AND changes() = 1
  AND EXISTS (SELECT 1 FROM pawl_topic t WHERE t.name IN ('', b.topic) AND t.dead);
-- @include claim_ended

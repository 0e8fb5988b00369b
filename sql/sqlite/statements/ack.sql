-- Done: the queue row goes, an outcome row comes. Answers per item whether it changed.
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;
-- @each
INSERT OR FAIL INTO pawl_outcome (id, state, finished_at, retries, processed_by)
SELECT q.id, 2, :now, q.retries, c.owner_name
FROM pawl_queue q LEFT JOIN pawl_claim c ON c.fence = q.fence
WHERE q.id = :id AND q.fence = :fence AND q.owner = :owner AND q.fence <> 0;
-- @each
UPDATE OR FAIL pawl_lane SET held = held - 1, done = done + 1
WHERE id = (SELECT lane_id FROM pawl_queue WHERE id = :id) AND changes() = 1;
-- @each
DELETE FROM pawl_queue WHERE id = :id AND changes() = 1;
-- @each
SELECT changes();

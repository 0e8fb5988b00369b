-- Done: the queue row goes, an outcome row comes. One answer row per item that changed.
UPDATE pawl_meta SET latest_time = :now;
-- @each
INSERT INTO pawl_outcome (id, state, finished_at, retries, processed_by)
SELECT q.id, 2, :now, q.retries, c.owner_name
FROM pawl_queue q LEFT JOIN pawl_claim c ON c.fence = q.fence
WHERE q.id = :id AND q.fence = :fence AND q.owner = :owner AND q.fence <> 0;
-- @each
INSERT INTO pawl_tally (lane_id, state, n)
SELECT lane_id, 2, 1 FROM pawl_queue
WHERE id = :id AND fence = :fence AND owner = :owner AND fence <> 0
ON CONFLICT (lane_id, state) DO UPDATE SET n = n + 1;
-- @each
DELETE FROM pawl_queue
WHERE id = :id AND fence = :fence AND owner = :owner AND fence <> 0
RETURNING 1;

-- Failed for good: a dead letter, kept until it is redriven or purged.
UPDATE pawl_meta SET latest_time = :now;
-- @each
INSERT INTO pawl_outcome (id, state, finished_at, retries, processed_by, error, expires_at)
SELECT q.id, 3, :now, q.retries + 1, c.owner_name, coalesce(:error, q.last_error), q.expires_at
FROM pawl_queue q LEFT JOIN pawl_claim c ON c.fence = q.fence
WHERE q.id = :id AND q.fence = :fence AND q.owner = :owner AND q.fence <> 0;
-- @each
INSERT INTO pawl_tally (lane_id, state, n)
SELECT lane_id, 3, 1 FROM pawl_queue
WHERE id = :id AND fence = :fence AND owner = :owner AND fence <> 0
ON CONFLICT (lane_id, state) DO UPDATE SET n = n + 1;
-- @each
DELETE FROM pawl_queue
WHERE id = :id AND fence = :fence AND owner = :owner AND fence <> 0
RETURNING 1;

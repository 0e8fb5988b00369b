-- Ready or in progress: ended at once. A holder's fence no longer matches anything.
UPDATE pawl_meta SET latest_time = :now;
-- @each
INSERT INTO pawl_outcome (id, state, finished_at, retries, error)
SELECT id, 5, :now, retries, last_error FROM pawl_queue WHERE id = :id;
-- @each
INSERT INTO pawl_tally (lane_id, state, n)
SELECT lane_id, 5, 1 FROM pawl_queue WHERE id = :id
ON CONFLICT (lane_id, state) DO UPDATE SET n = n + 1;
-- @each
DELETE FROM pawl_queue WHERE id = :id RETURNING 1;

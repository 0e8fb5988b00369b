-- Dead letters become ready again: attempts 0, due now, as long to live as the first time.
UPDATE pawl_meta SET latest_time = :now;
-- @each
INSERT INTO pawl_queue (id, lane_id, run_at, expires_at, lease, last_error)
SELECT b.id, b.lane_id, :now, :now + (b.expires_at - max(b.due_at, b.created_at)), b.lease, o.error
FROM pawl_outcome o JOIN pawl_body b ON b.id = o.id
WHERE o.id = :id AND o.state IN (3, 4, 5);
-- @each
INSERT INTO pawl_tally (lane_id, state, n)
SELECT b.lane_id, 0, 1
FROM pawl_outcome o JOIN pawl_body b ON b.id = o.id
WHERE o.id = :id AND o.state IN (3, 4, 5)
ON CONFLICT (lane_id, state) DO UPDATE SET n = n + 1;
-- @each
DELETE FROM pawl_outcome WHERE id = :id AND state IN (3, 4, 5) RETURNING 1;

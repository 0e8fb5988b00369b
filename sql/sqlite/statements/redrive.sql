-- Dead letters become ready again: attempts 0, due now, as long to live as the first time.
-- @include expire_id
-- (Between the two, so that each is done for all ids: one that is named twice is changed once.)
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;
-- @each
INSERT OR IGNORE INTO pawl_lane (topic, priority, destination)
SELECT b.topic, b.priority, coalesce(b.destination, '')
FROM pawl_outcome o CROSS JOIN pawl_body b ON b.id = o.id
WHERE o.id = :id AND o.state >= 3;
-- @each
INSERT OR FAIL INTO pawl_queue (id, lane_id, run_at, expires_at, lease, run_id, last_error)
SELECT b.id,
       (SELECT l.id FROM pawl_lane l INDEXED BY pawl_lane_name
        WHERE l.topic = b.topic AND l.priority = b.priority AND l.destination = coalesce(b.destination, '')),
       :now, :now + min(b.expires_at - max(b.due_at, b.created_at), @TTL_MOST@000), b.lease, b.run_id, o.error
FROM pawl_outcome o CROSS JOIN pawl_body b ON b.id = o.id
WHERE o.id = :id AND o.state >= 3;
-- @each
UPDATE OR FAIL pawl_tally SET redriven = redriven + 1
WHERE lane_id = (SELECT lane_id FROM pawl_queue WHERE id = :id) AND changes() = 1;
-- @each
DELETE FROM pawl_outcome WHERE id = :id AND changes() = 1;
-- @each
SELECT changes();
-- @each
DELETE FROM pawl_dead WHERE id = :id AND changes() = 1;
-- The job's run is unfinished again.
-- @each
UPDATE OR FAIL pawl_job_run SET state = 0, ended_at = NULL, attempts = 0
WHERE id = (SELECT run_id FROM pawl_queue WHERE id = :id) AND state IN (3, 4, 5);

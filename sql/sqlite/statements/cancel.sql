-- Ready or in progress: ended at once. A holder's fence no longer matches anything.
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;
-- @each
INSERT OR FAIL INTO pawl_outcome (id, state, finished_at, retries, error, progress)
SELECT id, 5, :now, retries, last_error, progress FROM pawl_queue WHERE id = :id;
-- @each
UPDATE OR FAIL pawl_tally
SET held = held - (SELECT fence <> 0 FROM pawl_queue WHERE id = :id), cancelled = cancelled + 1
WHERE lane_id = (SELECT lane_id FROM pawl_queue WHERE id = :id) AND changes() = 1;
-- @each
DELETE FROM pawl_queue WHERE id = :id AND changes() = 1;
-- @each
SELECT changes();

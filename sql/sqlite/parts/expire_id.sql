-- One that is past its time to live reads as expired before maintenance has been there: it becomes so now.
-- @each
INSERT OR FAIL INTO pawl_outcome (id, state, finished_at, retries, error, progress)
SELECT id, 4, :now, retries, last_error, progress FROM pawl_queue
WHERE id = :id AND fence = 0 AND expires_at <= :now;
-- @each
UPDATE OR FAIL pawl_tally SET expired = expired + 1
WHERE lane_id = (SELECT lane_id FROM pawl_queue WHERE id = :id) AND changes() = 1;
-- @each
DELETE FROM pawl_queue WHERE id = :id AND changes() = 1;

-- Ready, whether due or not: ended at once. What somebody holds is left to its holder.
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;
-- @each
INSERT OR FAIL INTO pawl_outcome (id, state, finished_at, retries, error, progress)
SELECT q.id, 5, :now, q.retries, q.last_error, q.progress
FROM pawl_body b INDEXED BY pawl_body_message CROSS JOIN pawl_queue q ON q.id = b.id
WHERE b.message_id = :message_id AND q.fence = 0;
-- @each
UPDATE OR FAIL pawl_tally SET cancelled = cancelled + 1
WHERE lane_id = (SELECT q.lane_id FROM pawl_body b INDEXED BY pawl_body_message
                 CROSS JOIN pawl_queue q ON q.id = b.id WHERE b.message_id = :message_id)
  AND changes() = 1;
-- @each
DELETE FROM pawl_queue
WHERE id = (SELECT id FROM pawl_body INDEXED BY pawl_body_message WHERE message_id = :message_id)
  AND changes() = 1;
-- @each
SELECT changes();

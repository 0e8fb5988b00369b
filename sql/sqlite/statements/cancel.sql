-- Ready or in progress: ended at once. A holder's fence no longer matches anything.
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;
-- The claim that holds it goes with it if it is the last; afterwards nothing would say which that was.
-- @each
DELETE FROM pawl_claim
WHERE fence = (SELECT fence FROM pawl_queue WHERE id = :id AND fence <> 0)
  AND NOT EXISTS (SELECT 1 FROM json_each(pawl_claim.ids) j
                  CROSS JOIN pawl_queue q ON q.id = j.value AND q.fence = pawl_claim.fence
                  WHERE q.id <> :id);
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

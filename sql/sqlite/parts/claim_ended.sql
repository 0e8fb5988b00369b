-- The claim goes with the last message that it took. Messages mostly end in the order in which they were
-- claimed, so whether the last one is still held is asked first: that answers for almost every message of
-- a batch that is finished one by one.
-- @each
DELETE FROM pawl_claim
WHERE fence = :fence
  AND NOT EXISTS (SELECT 1 FROM pawl_queue q WHERE q.id = pawl_claim.last_id AND q.fence = pawl_claim.fence)
  AND NOT EXISTS (SELECT 1 FROM json_each(pawl_claim.ids) j
                  CROSS JOIN pawl_queue q ON q.id = j.value AND q.fence = pawl_claim.fence);

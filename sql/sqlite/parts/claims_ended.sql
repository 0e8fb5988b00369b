-- The same as claim_ended.sql for all rows at once.
-- @if-rows
DELETE FROM pawl_claim
WHERE fence IN (SELECT fence FROM pawli_rows(:rows))
  AND NOT EXISTS (SELECT 1 FROM pawl_queue q WHERE q.id = pawl_claim.last_id AND q.fence = pawl_claim.fence)
  AND NOT EXISTS (SELECT 1 FROM json_each(pawl_claim.ids) j
                  CROSS JOIN pawl_queue q ON q.id = j.value AND q.fence = pawl_claim.fence);

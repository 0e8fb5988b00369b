-- Push the end of the lease; reap looks at the new end when the claim's check comes up. That is too
-- late for a lease that was made shorter, so its check is brought forward; one too many costs little.
-- @each
UPDATE OR FAIL pawl_claim SET check_at = :now + :lease
WHERE fence = :fence AND owner = :owner AND check_at > :now + :lease;
-- @each
UPDATE OR FAIL pawl_queue SET lease_until = :now + min(coalesce(lease, :lease), @LEASE_MOST@000)
WHERE id = :id AND fence = :fence AND owner = :owner AND fence <> 0;
-- @each
SELECT changes();

-- Push the end of the lease; reap looks at the new end when the claim's check comes up.
-- @each
UPDATE OR FAIL pawl_queue SET lease_until = :now + coalesce(lease, :lease)
WHERE id = :id AND fence = :fence AND owner = :owner AND fence <> 0;
-- @each
SELECT changes();

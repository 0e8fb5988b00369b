-- Still at it: the lease now ends :lease from now.
UPDATE pawl_inbox_record INDEXED BY pawl_inbox_key
SET lease_until = :now + :lease, expires_at = max(expires_at, :now + :lease)
WHERE source = :source AND id = :id AND state = 1 AND fence = :fence;

SELECT changes();

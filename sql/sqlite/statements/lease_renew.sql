-- Still at it. A lease that has run out is not revived, also if nobody has taken it.
UPDATE OR FAIL pawl_lease SET renewed_at = :now, expires_at = max(expires_at, :now + :ttl)
WHERE name = :name AND owner = :owner AND fence = :fence AND released_at IS NULL AND expires_at > :now;

SELECT changes(), :now, l.* FROM pawl_lease l WHERE l.name = :name;

-- Give a lease back.
UPDATE OR FAIL pawl_lease SET released_at = :now, expires_at = :now
WHERE name = :name AND owner = :owner AND fence = :fence AND released_at IS NULL AND expires_at > :now;

SELECT changes(), :now, l.* FROM pawl_lease l WHERE l.name = :name;

-- Leases by name.
SELECT 1, :now, l.* FROM pawl_lease l
WHERE l.name > :after AND (NOT :only_held OR (l.released_at IS NULL AND l.expires_at > :now))
ORDER BY l.name LIMIT :limit;

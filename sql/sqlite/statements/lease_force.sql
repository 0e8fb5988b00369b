-- Take a lease away from its holder, and keep who did it and why.
UPDATE OR FAIL pawl_lease
SET released_at = :now, expires_at = :now, forced_at = :now, forced_by = :by, forced_reason = :reason,
    forced_fence = fence
WHERE name = :name AND (:fence IS NULL OR fence = :fence) AND released_at IS NULL AND expires_at > :now;

SELECT changes(), :now, l.* FROM pawl_lease l WHERE l.name = :name;

-- Forget what has been kept long enough. Whoever is still at one keeps it.
DELETE FROM pawl_inbox_record
WHERE number IN (SELECT number FROM pawl_inbox_record INDEXED BY pawl_inbox_expiry
                 WHERE expires_at <= :now AND (state <> 1 OR lease_until <= :now)
                 ORDER BY expires_at LIMIT :limit);

SELECT changes();

-- Done, once: under the fence of the attempt, or (no fence) whoever is at it.
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;

UPDATE pawl_inbox_record INDEXED BY pawl_inbox_key
SET state = 2, lease_until = 0, processed_at = :now, last_seen = :now, expires_at = :now + :keep,
    error = NULL, response = :response
WHERE source = :source AND id = :id AND state < 2
  AND (:fence IS NULL OR (state = 1 AND fence = :fence));

SELECT changes();

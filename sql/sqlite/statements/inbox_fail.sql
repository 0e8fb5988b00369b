-- The attempt failed: another may follow at once, unless it was the last or :dead says that none may.
-- A suspect has one attempt that does not count (inbox_begin).
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;

UPDATE pawl_inbox_record INDEXED BY pawl_inbox_key
SET state = CASE WHEN :dead OR attempts - suspect >= max_attempts THEN 3 ELSE 0 END, lease_until = 0,
    error = coalesce(:error, error),
    expires_at = CASE WHEN :dead OR attempts - suspect >= max_attempts THEN NULL ELSE :now + :keep END
WHERE source = :source AND id = :id AND state < 2
  AND (:fence IS NULL OR (state = 1 AND fence = :fence));

SELECT changes();

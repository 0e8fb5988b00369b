-- Dead records get all their attempts again, when the message comes again.
UPDATE pawl_inbox_record
SET state = 0, attempts = 0, suspect = 0, lease_until = 0, expires_at = :now + :keep
WHERE number IN (SELECT number FROM pawl_inbox_record INDEXED BY pawl_inbox_dead
                 WHERE state = 3 AND (:source IS NULL OR source = :source) AND (:id IS NULL OR id = :id)
                 ORDER BY number LIMIT :limit);

SELECT changes();

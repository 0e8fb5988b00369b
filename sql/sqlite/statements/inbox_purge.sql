-- Forget dead records.
DELETE FROM pawl_inbox_record
WHERE number IN (SELECT number FROM pawl_inbox_record INDEXED BY pawl_inbox_dead
                 WHERE state = 3 AND (:source IS NULL OR source = :source) AND (:id IS NULL OR id = :id)
                 ORDER BY number LIMIT :limit);

SELECT changes();

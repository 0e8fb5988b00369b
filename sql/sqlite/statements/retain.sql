-- Forget what was done or cancelled longer than :keep ago. The body goes first, while the
-- outcome still says which.
DELETE FROM pawl_body
WHERE id IN (SELECT id FROM pawl_outcome INDEXED BY pawl_outcome_age
             WHERE state IN (2, 5) AND finished_at <= :now - :keep
             ORDER BY finished_at, id LIMIT :limit);

DELETE FROM pawl_outcome
WHERE id IN (SELECT id FROM pawl_outcome INDEXED BY pawl_outcome_age
             WHERE state IN (2, 5) AND finished_at <= :now - :keep
             ORDER BY finished_at, id LIMIT :limit);

SELECT changes();

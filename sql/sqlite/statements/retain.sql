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

SELECT changes(), changes();

-- The totals of topics that have no lane and of which no message has ended since then.
DELETE FROM pawl_total
WHERE topic IN (SELECT topic FROM pawl_total o INDEXED BY pawl_total_age
                WHERE changed_at <= :now - :keep
                  AND NOT EXISTS (SELECT 1 FROM pawl_lane l INDEXED BY pawl_lane_name WHERE l.topic = o.topic)
                ORDER BY changed_at LIMIT :limit);

SELECT 0, changes();

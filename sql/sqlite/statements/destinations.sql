-- Destinations after :after by name, :scan of them at most. Answers the name, and whether there are
-- unfinished messages for it; the last one looked at is always answered, so that the next page can
-- start there; whether the walk ended by its bound; and the token of the last wake.sql.
WITH RECURSIVE seen (name) AS (
    SELECT (SELECT l.destination FROM pawl_lane l INDEXED BY pawl_lane_destination
            WHERE l.destination > :after AND l.destination > ''
            ORDER BY l.destination LIMIT 1)
    UNION ALL
    SELECT (SELECT l.destination FROM pawl_lane l INDEXED BY pawl_lane_destination
            WHERE l.destination > seen.name AND l.destination > ''
            ORDER BY l.destination LIMIT 1)
    FROM seen WHERE seen.name IS NOT NULL
    LIMIT :scan),
looked AS MATERIALIZED (
    SELECT name,
           EXISTS (SELECT 1
                   FROM pawl_lane l INDEXED BY pawl_lane_destination
                   CROSS JOIN pawl_tally t ON t.lane_id = l.id
                   WHERE l.destination = seen.name AND l.destination > ''
                     AND (t.held > 0
                          OR EXISTS (SELECT 1 FROM pawl_queue q INDEXED BY pawl_queue_due
                                     WHERE q.lane_id = l.id AND q.fence = 0))) AS matches
    FROM seen WHERE name IS NOT NULL)
SELECT name, matches, (SELECT count(*) FROM looked) = :scan,
       (SELECT max(woken) FROM pawl_lane l INDEXED BY pawl_lane_destination
        WHERE l.destination = looked.name AND l.destination > '')
FROM looked
WHERE matches OR name = (SELECT max(name) FROM looked)
ORDER BY name;

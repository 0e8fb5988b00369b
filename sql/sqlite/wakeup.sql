-- sql/sqlite/wakeup.sql - when the next message is ready, and who waits for it.

-- name: next_due
-- The clock, and when the next message is ready: also before it, for there are no dead index entries
-- to walk over. One range of the index per lane that is not paused, left at its first row that has
-- not expired. Of the messages for local handlers; or for :destinations; or, with :others, for all
-- destinations but those.
SELECT :now,
       (SELECT min((SELECT q.run_at FROM pawl_queue q INDEXED BY pawl_queue_due
                    WHERE q.lane_id = t.lane_id AND q.fence = 0
                      AND (q.expires_at IS NULL OR q.expires_at > :now)
                    ORDER BY q.run_at LIMIT 1))
        FROM pawl_lane_stats t INDEXED BY pawl_lane_stats_turn
        WHERE t.paused = 0
          AND t.destination IN (SELECT '' WHERE :destinations IS NULL
                                UNION ALL
                                SELECT value FROM json_each(:destinations)
                                WHERE NOT :others AND value > ''
                                UNION ALL
                                SELECT destination FROM pawl_lane INDEXED BY pawl_lane_destination
                                WHERE :others AND destination > ''
                                  AND destination NOT IN (SELECT value FROM json_each(:destinations)))
          AND (:topics IS NULL
               OR (SELECT topic FROM pawl_lane WHERE id = t.lane_id)
                  IN (SELECT value FROM json_each(:topics))));

-- name: destinations
-- Destinations after :after by name, :scan of them at most. Answers the name, and whether there are
-- unfinished messages for it; the last one looked at is always answered, so that the next page can
-- start there; whether the walk ended by its bound; and the token of the last wake.
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
                   CROSS JOIN pawl_lane_stats t ON t.lane_id = l.id
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

-- name: wake
-- What waits for another attempt at :destination is due now, :limit of it at most; and whoever delivers
-- learns by the lanes' new token that it is to try now. Answers how many became due.
-- @include draw_fence
;

UPDATE OR FAIL pawl_lane SET woken = (SELECT fence FROM pawl_meta WHERE id = 1)
WHERE destination = :destination AND destination > '';

UPDATE OR FAIL pawl_queue SET run_at = :now
WHERE id IN (SELECT q.id
             FROM pawl_lane l INDEXED BY pawl_lane_destination
             CROSS JOIN pawl_queue q INDEXED BY pawl_queue_due
                     ON q.lane_id = l.id AND q.fence = 0 AND q.run_at > :now
             WHERE l.destination = :destination AND l.destination > '' AND q.retries + q.deferrals > 0
             LIMIT :limit);

SELECT changes();

-- name: idle
-- An idle worker need not be written down: it sees every commit by itself (docs/internals/wake-ups.md).
SELECT :idle_worker, :present WHERE 0;

-- name: busy
-- An idle worker is not written down.
SELECT :idle_worker WHERE 0;

-- name: snapshot_passed
-- Nobody is overtaken: there is one writer at a time.
SELECT :epoch, 1;

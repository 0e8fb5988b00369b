-- sql/sqlite/wakeup.sql - when the next message is ready, and at which destinations.

-- name: next_due
-- The clock, and when the next message is ready, which may be in the past: unlike in PostgreSQL, there are no
-- dead index entries to walk over. One index range per lane that is not paused, read until its first row that
-- has not expired. Counts messages for local handlers; or for :destinations; or, with :others, for all other
-- destinations.
SELECT :now,
       (SELECT min((SELECT q.run_at FROM pawl_queue q INDEXED BY pawl_queue_due
                    WHERE q.lane_id = t.lane_id AND q.fence = 0
                      AND (q.expires_at IS NULL OR q.expires_at > :now)
                    ORDER BY q.run_at LIMIT 1))
        FROM pawl_lane_stats t INDEXED BY pawl_lane_stats_order
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
-- Destinations after :after by name, at most :scan. Returns the name; whether it has unfinished messages;
-- whether the scan ended at its limit; and the token of the last wake. The last scanned destination is always
-- returned, so that the next page can start there.
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
examined AS MATERIALIZED (
    SELECT name,
           EXISTS (SELECT 1
                   FROM pawl_lane l INDEXED BY pawl_lane_destination
                   CROSS JOIN pawl_lane_stats t ON t.lane_id = l.id
                   WHERE l.destination = seen.name AND l.destination > ''
                     AND (t.running > 0
                          OR EXISTS (SELECT 1 FROM pawl_queue q INDEXED BY pawl_queue_due
                                     WHERE q.lane_id = l.id AND q.fence = 0))) AS matches
    FROM seen WHERE name IS NOT NULL)
SELECT name, matches, (SELECT count(*) FROM examined) = :scan,
       (SELECT max(woken) FROM pawl_lane l INDEXED BY pawl_lane_destination
        WHERE l.destination = examined.name AND l.destination > '')
FROM examined
WHERE matches OR name = (SELECT max(name) FROM examined)
ORDER BY name;

-- name: wake
-- Make messages that wait for another attempt at :destination due now, at most :limit. The lanes' new token
-- notifies deliverers to retry now. Returns the number of messages that became due. With :error_prefix: only
-- messages whose last error begins with it; if there is none, nothing is changed.
-- @stop-unless-changed
-- @include draw_fence
  AND (:error_prefix IS NULL
       OR EXISTS (SELECT 1
                  FROM pawl_lane l INDEXED BY pawl_lane_destination
                  CROSS JOIN pawl_queue q INDEXED BY pawl_queue_due
                          ON q.lane_id = l.id AND q.fence = 0 AND q.run_at > :now
                  WHERE l.destination = :destination AND l.destination > ''
                    AND substr(q.last_error, 1, length(:error_prefix)) = :error_prefix));

UPDATE OR FAIL pawl_lane SET woken = (SELECT fence FROM pawl_meta WHERE id = 1)
WHERE destination = :destination AND destination > '';

UPDATE OR FAIL pawl_queue SET run_at = :now
WHERE id IN (SELECT q.id
             FROM pawl_lane l INDEXED BY pawl_lane_destination
             CROSS JOIN pawl_queue q INDEXED BY pawl_queue_due
                     ON q.lane_id = l.id AND q.fence = 0 AND q.run_at > :now
             WHERE l.destination = :destination AND l.destination > '' AND q.retries + q.deferrals > 0
               AND (:error_prefix IS NULL OR substr(q.last_error, 1, length(:error_prefix)) = :error_prefix)
             LIMIT :limit);

SELECT changes();

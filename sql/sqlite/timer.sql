-- sql/sqlite/timer.sql - messages with a due time.

-- part: timer_walk
-- The unclaimed messages of all requested lanes in one order. The queue of the recursive query is sorted, and
-- each row taken from it adds the next row of its lane, at most :scan rows. The next row is first searched at
-- the same time: with one comparison of both columns, SQLite would walk over all rows that are due at that
-- time, for each of them.
WITH RECURSIVE walk (run_at, id, lane_id) AS (
    SELECT q.run_at, q.id, q.lane_id
    FROM pawl_lane l
    CROSS JOIN pawl_queue q
            ON q.id = coalesce((SELECT h.id FROM pawl_queue h INDEXED BY pawl_queue_due
                                WHERE h.lane_id = l.id AND h.fence = 0 AND h.run_at = :after_due
                                  AND h.id > :after_id
                                ORDER BY h.id LIMIT 1),
                               (SELECT h.id FROM pawl_queue h INDEXED BY pawl_queue_due
                                WHERE h.lane_id = l.id AND h.fence = 0
                                  AND h.run_at > coalesce(:after_due, -1)
                                ORDER BY h.run_at, h.id LIMIT 1))
    WHERE (:topic IS NULL OR l.topic = :topic)
      AND q.run_at < coalesce(:due_before, 9223372036854775807)
    UNION ALL
    SELECT q.run_at, q.id, q.lane_id
    FROM walk w
    CROSS JOIN pawl_queue q
            ON q.id = coalesce((SELECT h.id FROM pawl_queue h INDEXED BY pawl_queue_due
                                WHERE h.lane_id = w.lane_id AND h.fence = 0 AND h.run_at = w.run_at
                                  AND h.id > w.id
                                ORDER BY h.id LIMIT 1),
                               (SELECT h.id FROM pawl_queue h INDEXED BY pawl_queue_due
                                WHERE h.lane_id = w.lane_id AND h.fence = 0 AND h.run_at > w.run_at
                                ORDER BY h.run_at, h.id LIMIT 1))
    WHERE q.run_at < coalesce(:due_before, 9223372036854775807)
    ORDER BY 1, 2
    LIMIT :scan),
seen AS MATERIALIZED (
    SELECT w.run_at, w.id,
           (b.due_at > b.created_at OR (b.due_at < b.created_at AND b.run_id IS NULL))
           AND (:destination IS NULL OR b.destination IS :destination)
           AND (:correlation_id IS NULL OR b.correlation_id IS :correlation_id) AS matches
    FROM walk w CROSS JOIN pawl_body b ON b.id = w.id)

-- name: timer_pending
-- Timers that are not claimed, by due time. Returns the message's columns, whether it matches (the last scanned
-- row is always returned, so that the next page can start there) and whether the scan ended at its limit.
-- @include timer_walk
-- @include listed_columns
       , s.matches AS matches, (SELECT count(*) FROM seen) = :scan AS bounded
FROM seen s CROSS JOIN pawl_message m ON m.id = s.id
WHERE s.matches OR s.id = (SELECT id FROM seen ORDER BY run_at DESC, id DESC LIMIT 1)
LIMIT :limit;

-- name: timer_count
-- The number of timers that are not claimed, and whether counting stopped at its limit.
-- @include timer_walk
SELECT coalesce(sum(matches), 0), count(*) = :scan FROM seen;

-- name: timer_cancel
-- Cancel ready timers, due or not. Claimed ones are left to their holders.
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;
-- @each
INSERT OR FAIL INTO pawl_outcome (id, state, finished_at, retries, error, progress)
SELECT q.id, @STATE_CANCELLED@, :now, q.retries, q.last_error, q.progress
FROM pawl_body b INDEXED BY pawl_body_message CROSS JOIN pawl_queue q ON q.id = b.id
WHERE b.message_id = :message_id AND q.fence = 0;
-- @each
UPDATE OR FAIL pawl_lane_stats SET cancelled = cancelled + 1
WHERE lane_id = (SELECT q.lane_id FROM pawl_body b INDEXED BY pawl_body_message
                 CROSS JOIN pawl_queue q ON q.id = b.id WHERE b.message_id = :message_id)
  AND changes() = 1;
-- @each
DELETE FROM pawl_queue
WHERE id = (SELECT id FROM pawl_body INDEXED BY pawl_body_message WHERE message_id = :message_id)
  AND changes() = 1;
-- @each
SELECT changes();

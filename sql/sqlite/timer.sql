-- sql/sqlite/timer.sql - messages sent for later.

-- part: timer_walk
-- The messages that nobody holds, of all lanes asked for in one order: the queue of the recursion is
-- sorted, and a row that is taken from it brings the next one of its lane. :scan rows at most. The
-- next one is looked for at the same time first: as one comparison of both columns, SQLite would walk
-- over all that are due at that time, for each of them.
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
-- Messages sent for later that nobody holds, by due time. Answers the message's columns, whether it
-- matches (the last row looked at is always answered, so that the next page can start there) and
-- whether the walk ended by its bound.
-- @include timer_walk
-- @include listed_columns
       , s.matches, (SELECT count(*) FROM seen) = :scan
FROM seen s CROSS JOIN pawl_message m ON m.id = s.id
WHERE s.matches OR s.id = (SELECT id FROM seen ORDER BY run_at DESC, id DESC LIMIT 1)
LIMIT :limit;

-- name: timer_count
-- How many messages sent for later nobody holds, and whether counting ended by its bound.
-- @include timer_walk
SELECT coalesce(sum(matches), 0), count(*) = :scan FROM seen;

-- name: timer_cancel
-- Ready, whether due or not: ended at once. What somebody holds is left to its holder.
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

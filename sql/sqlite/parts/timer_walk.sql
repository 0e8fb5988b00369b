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

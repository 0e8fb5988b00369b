-- Per topic: what is unfinished, ready messages counted up to :cap a lane, and what has ended. What
-- the exact counts leave over of the whole is the estimate for the topics whose counting stopped.
-- What is past its time to live counts as expired, also before maintenance has moved it.
WITH late AS MATERIALIZED (
    SELECT lane_id, count(*) AS n
    FROM (SELECT lane_id FROM pawl_queue INDEXED BY pawl_queue_expiry
          WHERE fence = 0 AND expires_at <= :now LIMIT :cap)
    GROUP BY lane_id),
depth AS MATERIALIZED (
    SELECT l.topic, t.held, t.done, t.failed, t.cancelled,
           t.expired + coalesce((SELECT n FROM late WHERE lane_id = l.id), 0) AS expired,
           coalesce((SELECT n FROM late WHERE lane_id = l.id), 0) AS late,
           (SELECT count(*) FROM (SELECT 1 FROM pawl_queue q INDEXED BY pawl_queue_due
                                  WHERE q.lane_id = l.id AND q.fence = 0 LIMIT :cap)) AS ready,
           (SELECT q.run_at FROM pawl_queue q INDEXED BY pawl_queue_due
            WHERE q.lane_id = l.id AND q.fence = 0 AND q.run_at <= :now
              AND (q.expires_at IS NULL OR q.expires_at > :now)
            ORDER BY q.run_at LIMIT 1) AS oldest
    FROM pawl_lane l CROSS JOIN pawl_tally t ON t.lane_id = l.id
    UNION ALL
    SELECT topic, 0, done, failed, cancelled, expired, 0, 0, NULL FROM pawl_total
    UNION ALL -- dead letters, whose lane may be gone
    SELECT * FROM (SELECT b.topic, 0, 0, 0, 0, 1, 0, 0, NULL
                   FROM pawl_outcome o INDEXED BY pawl_outcome_expiry
                   CROSS JOIN pawl_body b ON b.id = o.id
                   WHERE o.state = 3 AND o.expires_at <= :now LIMIT :cap)),
topic AS MATERIALIZED (
    SELECT topic, sum(max(ready - late, 0)) AS ready, sum(held) AS held,
           sum(max(ready - late, 0)) + sum(held) AS n,
           max(ready) >= :cap AS at_least, min(oldest) AS oldest, sum(done) AS done,
           sum(failed) AS failed, sum(expired) AS expired, sum(cancelled) AS cancelled
    FROM depth GROUP BY topic)
SELECT topic, ready, held, at_least,
       CASE WHEN at_least
            THEN max(n, ((SELECT max(id) FROM pawl_queue) - (SELECT min(id) FROM pawl_queue) + 1
                         - (SELECT coalesce(sum(n), 0) FROM topic WHERE NOT at_least))
                        / (SELECT count(*) FROM topic WHERE at_least))
            ELSE n END,
       done, failed, expired, cancelled, oldest
FROM topic
ORDER BY topic;

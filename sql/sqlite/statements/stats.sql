-- Per topic: what is unfinished, ready messages counted up to :cap a lane, and what has ended. What
-- the exact counts leave over of the whole is the estimate for the topics whose counting stopped.
WITH depth AS MATERIALIZED (
    SELECT l.topic, t.held, t.done, t.failed, t.expired, t.cancelled,
           (SELECT count(*) FROM (SELECT 1 FROM pawl_queue q INDEXED BY pawl_queue_due
                                  WHERE q.lane_id = l.id AND q.fence = 0 LIMIT :cap)) AS ready,
           (SELECT q.run_at FROM pawl_queue q INDEXED BY pawl_queue_due
            WHERE q.lane_id = l.id AND q.fence = 0 AND q.run_at <= :now
            ORDER BY q.run_at LIMIT 1) AS oldest
    FROM pawl_lane l CROSS JOIN pawl_tally t ON t.lane_id = l.id),
topic AS MATERIALIZED (
    SELECT topic, sum(ready) AS ready, sum(held) AS held, sum(ready) + sum(held) AS n,
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

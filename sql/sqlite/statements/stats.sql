-- Per topic: what is unfinished, counted up to :cap, and what has ended. What the exact counts
-- leave over of the whole is the estimate for the topics whose counting stopped.
WITH depth AS MATERIALIZED (
    SELECT l.topic,
           (SELECT count(*) FROM (SELECT 1 FROM pawl_queue q WHERE q.lane_id = l.id LIMIT :cap)) AS n,
           (SELECT count(*) FROM (SELECT q.fence FROM pawl_queue q WHERE q.lane_id = l.id
                                  ORDER BY q.run_at, q.id LIMIT :cap) WHERE fence <> 0) AS held,
           (SELECT min(run_at) FROM (SELECT q.run_at, q.fence FROM pawl_queue q
                                     WHERE q.lane_id = l.id AND q.run_at <= :now
                                     ORDER BY q.run_at, q.id LIMIT :cap) WHERE fence = 0) AS oldest
    FROM pawl_lane l),
topic AS (
    SELECT topic, sum(n) AS n, sum(held) AS held, max(n) >= :cap AS at_least, min(oldest) AS oldest
    FROM depth GROUP BY topic),
ended AS (
    SELECT l.topic,
           sum(CASE WHEN t.state = 2 THEN t.n ELSE 0 END) AS done,
           sum(CASE WHEN t.state = 3 THEN t.n ELSE 0 END) AS failed,
           sum(CASE WHEN t.state = 4 THEN t.n ELSE 0 END) AS expired,
           sum(CASE WHEN t.state = 5 THEN t.n ELSE 0 END) AS cancelled
    FROM pawl_tally t JOIN pawl_lane l ON l.id = t.lane_id
    GROUP BY l.topic)
SELECT topic.topic, topic.n - topic.held, topic.held, topic.at_least,
       CASE WHEN topic.at_least
            THEN max(topic.n, ((SELECT max(id) FROM pawl_queue) - (SELECT min(id) FROM pawl_queue) + 1
                               - (SELECT coalesce(sum(n), 0) FROM topic WHERE NOT at_least))
                              / (SELECT count(*) FROM topic WHERE at_least))
            ELSE topic.n END,
       coalesce(ended.done, 0), coalesce(ended.failed, 0), coalesce(ended.expired, 0),
       coalesce(ended.cancelled, 0), topic.oldest
FROM topic LEFT JOIN ended ON ended.topic = topic.topic
ORDER BY topic.topic;

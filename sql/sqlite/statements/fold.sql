-- Remove lanes that are empty and from which nothing was claimed for five minutes, :limit of them:
-- claims cost what is waiting, not what ever was. To find them costs as much as a claim that finds
-- nothing. One transaction at a time writes, so nothing can come into a lane meanwhile. (An empty lane
-- from which nothing was ever claimed goes at once; after the clock was set back, lanes go when it is
-- ahead again.) The totals move to the topic's.
--
-- What is in progress counts in "held", the rest has an entry in the index.
-- @stop-unless-changed
INSERT INTO pawl_total (topic, done, failed, expired, cancelled, redriven, changed_at)
SELECT topic, sum(done), sum(failed), sum(expired), sum(cancelled), sum(redriven), :now
FROM (SELECT l.topic, t.done, t.failed, t.expired, t.cancelled, t.redriven
      FROM pawl_tally t CROSS JOIN pawl_lane l ON l.id = t.lane_id
      WHERE t.held = 0 AND t.used_at <= :now - 300000000
        AND NOT EXISTS (SELECT 1 FROM pawl_queue q INDEXED BY pawl_queue_due
                        WHERE q.lane_id = t.lane_id AND q.fence = 0)
      ORDER BY t.lane_id LIMIT :limit)
WHERE true
GROUP BY topic
ON CONFLICT (topic) DO UPDATE
SET done = done + excluded.done, failed = failed + excluded.failed, expired = expired + excluded.expired,
    cancelled = cancelled + excluded.cancelled, redriven = redriven + excluded.redriven,
    changed_at = excluded.changed_at;

DELETE FROM pawl_tally
WHERE lane_id IN (SELECT t.lane_id FROM pawl_tally t
                  WHERE t.held = 0 AND t.used_at <= :now - 300000000
                    AND NOT EXISTS (SELECT 1 FROM pawl_queue q INDEXED BY pawl_queue_due
                                    WHERE q.lane_id = t.lane_id AND q.fence = 0)
                  ORDER BY t.lane_id LIMIT :limit);

SELECT 0, changes();

DELETE FROM pawl_lane WHERE NOT EXISTS (SELECT 1 FROM pawl_tally t WHERE t.lane_id = pawl_lane.id);

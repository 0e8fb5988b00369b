-- sql/sqlite/topic.sql - topic settings, and the dead letters recorded for a handler.

-- name: topic_pause
-- Pause a topic: its messages are not claimed any more, also those in lanes that are added later.
INSERT INTO pawl_topic (name, paused_at) VALUES (:topic, :now)
ON CONFLICT (name) DO UPDATE SET paused_at = excluded.paused_at WHERE paused_at IS NULL;

SELECT changes();

UPDATE OR FAIL pawl_lane_stats SET paused = 1
WHERE lane_id IN (SELECT id FROM pawl_lane INDEXED BY pawl_lane_name WHERE topic = :topic);

-- name: topic_resume
-- Resume a topic.
-- @stop-unless-changed
UPDATE OR FAIL pawl_topic SET paused_at = NULL WHERE name = :topic AND paused_at IS NOT NULL;

SELECT 1;

UPDATE OR FAIL pawl_lane_stats SET paused = 0
WHERE lane_id IN (SELECT id FROM pawl_lane INDEXED BY pawl_lane_name WHERE topic = :topic);

DELETE FROM pawl_topic WHERE name = :topic AND NOT dead;

-- name: topics_due
-- Topics with a due message for local handlers that are not paused, at most :limit.
SELECT DISTINCT l.topic
FROM pawl_lane_stats t INDEXED BY pawl_lane_stats_order
CROSS JOIN pawl_lane l ON l.id = t.lane_id
WHERE t.paused = 0 AND t.destination = ''
  AND EXISTS (SELECT 1 FROM pawl_queue q INDEXED BY pawl_queue_due
              WHERE q.lane_id = t.lane_id AND q.fence = 0 AND q.run_at <= :now
                AND (q.expires_at IS NULL OR q.expires_at > :now))
LIMIT :limit;

-- name: topic_list
-- Every topic that has messages, counts or a setting.
SELECT n.name, t.paused_at,
       EXISTS (SELECT 1 FROM pawl_topic d WHERE d.dead AND d.name IN ('', n.name))
FROM (SELECT topic AS name FROM pawl_lane UNION SELECT topic FROM pawl_topic_stats UNION SELECT name FROM pawl_topic WHERE name <> '') n
LEFT JOIN pawl_topic t ON t.name = n.name
ORDER BY n.name;

-- name: topic_dead
-- Set whether the dead letters of a topic, or of all topics (name ''), are recorded for a handler.
-- @stop-unless-changed
INSERT INTO pawl_topic (name, dead)
SELECT :topic, :wanted WHERE :wanted OR EXISTS (SELECT 1 FROM pawl_topic WHERE name = :topic)
ON CONFLICT (name) DO UPDATE SET dead = excluded.dead WHERE dead <> excluded.dead;

SELECT 1;

DELETE FROM pawl_topic WHERE name = :topic AND NOT dead AND paused_at IS NULL;

UPDATE OR FAIL pawl_lane_stats
SET dead = EXISTS (SELECT 1 FROM pawl_topic t
                   WHERE t.dead
                     AND t.name IN ('', (SELECT topic FROM pawl_lane WHERE id = pawl_lane_stats.lane_id)));

-- name: dead_claim
-- Claim dead letters whose handler is due. Returns the columns of pawl_message, with the lease of the call, and
-- the number of the call.
-- @stop-unless-changed
-- @include draw_fence
  AND EXISTS (SELECT 1 FROM pawl_dead d INDEXED BY pawl_dead_due
              CROSS JOIN pawl_body b ON b.id = d.id
              WHERE d.run_at <= :now
                AND (:topics IS NULL OR b.topic IN (SELECT value FROM json_each(:topics))));

UPDATE OR FAIL pawl_dead
SET owner = :owner, fence = (SELECT fence FROM pawl_meta WHERE id = 1), calls = calls + 1,
    run_at = :now + :lease
WHERE id IN (SELECT d.id FROM pawl_dead d INDEXED BY pawl_dead_due
             CROSS JOIN pawl_body b ON b.id = d.id
             WHERE d.run_at <= :now
               AND (:topics IS NULL OR b.topic IN (SELECT value FROM json_each(:topics)))
             ORDER BY d.run_at LIMIT :limit);

-- @include message_columns row=m fence=d.fence owner=d.owner claimed_by=NULL lease_until=d.run_at next_attempt_at=NULL
       , d.calls AS calls
FROM pawl_dead d INDEXED BY pawl_dead_due
CROSS JOIN pawl_message m ON m.id = d.id
WHERE d.run_at = :now + :lease AND d.fence = (SELECT fence FROM pawl_meta WHERE id = 1)
ORDER BY m.id;

-- name: dead_done
-- The handler succeeded: remove the records.
-- @each
DELETE FROM pawl_dead WHERE id = :id AND fence = :fence AND owner = :owner AND fence <> 0;
-- @each
SELECT changes() AS changed;

-- name: dead_abandon
-- The handler failed: it is called again after :delay, or after min(base * 2^(calls - 1), max).
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;
-- @each
UPDATE OR FAIL pawl_dead
SET run_at = :now + coalesce(:delay, min(:base * (1 << min(max(calls - 1, 0), 30)), :max, @BACKOFF_MAX@000)),
    owner = zeroblob(16), fence = 0, error = coalesce(:error, error)
WHERE id = :id AND fence = :fence AND owner = :owner AND fence <> 0;
-- @each
SELECT changes() AS changed;

-- name: dead_renew
-- Extend the lease of a running handler's call.
-- @each
UPDATE OR FAIL pawl_dead SET run_at = :now + :lease
WHERE id = :id AND fence = :fence AND owner = :owner AND fence <> 0;
-- @each
SELECT changes() AS changed;

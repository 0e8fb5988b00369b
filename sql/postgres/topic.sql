-- sql/postgres/topic.sql - topic settings, and the dead letters recorded for a handler.

-- name: topic_pause
-- Pause a topic: its messages are not claimed any more.
SELECT pawl.topic_pause(topic => :topic);

-- name: topic_resume
-- Resume a topic.
SELECT pawl.topic_resume(topic => :topic);

-- name: topics_due
-- Topics with a due message for local handlers that are not paused.
SELECT * FROM pawl.topics_due(max_rows => :limit);

-- name: topic_list
-- Every topic that has had a message or a setting.
SELECT * FROM pawl.topic_list();

-- name: topic_dead
-- Whether the dead letters of a topic, or of all topics (name ''), are recorded for a handler.
SELECT pawl.topic_dead(topic => :topic, wanted => :wanted);

-- name: dead_claim
-- Claim dead letters whose handler is due.
SELECT * FROM pawl.dead_claim(owner => :owner, lease => :lease, max_rows => :limit, topics => :topics);

-- name: dead_done
-- The dead-letter handler succeeded.
SELECT a.changed,
       -- @include which
FROM (SELECT pawl.dead_done(owner => :owner, ids => :id, fences => :fence) AS changed) a;

-- name: dead_abandon
-- The dead-letter handler failed; it is called again later.
SELECT a.changed,
       -- @include which
FROM (SELECT pawl.dead_abandon(
          owner => :owner, ids => :id, fences => :fence, error => :error, delay => :delay, base => :base,
          most => :max) AS changed) a;

-- name: dead_renew
-- Extend the lease of a dead-letter handler's call.
SELECT a.changed,
       -- @include which
FROM (SELECT pawl.dead_renew(owner => :owner, ids => :id, fences => :fence, lease => :lease) AS changed) a;

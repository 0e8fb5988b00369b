-- sql/postgres/topic.sql - topics, and the dead letters that are recorded for a handler.

-- name: topic_pause
-- Nothing of the topic is claimed from now on.
SELECT pawl.topic_pause(topic => :topic);

-- name: topic_resume
-- Claims look at the topic again.
SELECT pawl.topic_resume(topic => :topic);

-- name: topics_due
-- Topics with a message that is due now, for local handlers and not paused.
SELECT * FROM pawl.topics_due(max_rows => :limit);

-- name: topic_list
-- Every topic that has had a message or of which something was said.
SELECT * FROM pawl.topic_list();

-- name: topic_dead
-- Whether the dead letters of a topic, or of all ('' as its name), are recorded for a handler.
SELECT pawl.topic_dead(topic => :topic, wanted => :wanted);

-- name: dead_claim
-- Dead letters whose handler is to be called now.
SELECT * FROM pawl.dead_claim(owner => :owner, lease => :lease, max_rows => :limit, topics => :topics);

-- name: dead_done
-- The handler was successful.
SELECT pawl.dead_done(owner => :owner, ids => :id, fences => :fence);

-- name: dead_abandon
-- The handler was not successful: it is called again later.
SELECT pawl.dead_abandon(
    owner => :owner, ids => :id, fences => :fence, error => :error, delay => :delay, base => :base,
    most => :max);

-- name: dead_renew
-- The handler is still at it.
SELECT pawl.dead_renew(owner => :owner, ids => :id, fences => :fence, lease => :lease);

-- sql/sqlite/maintenance.sql - maintenance.

-- part: due_claims
SELECT @columns@ FROM pawl_claim INDEXED BY pawl_claim_check
WHERE check_at <= :now ORDER BY check_at, fence LIMIT :limit

-- part: reaped
FROM (
    -- @include due_claims columns='fence, owner_name, ids'
    ) due
CROSS JOIN json_each(due.ids) j
CROSS JOIN pawl_queue q ON q.id = j.value AND q.fence = due.fence

-- part: at_the_last_attempt
(b.destination IS NULL OR b.count_all IS 1) AND q.retries + 1 >= b.max_attempts

-- part: reaped_at_the_last_attempt
-- @include reaped
CROSS JOIN pawl_body b ON b.id = q.id
WHERE q.lease_until <= :now AND
  -- @include at_the_last_attempt

-- part: late_messages
SELECT @columns@ FROM pawl_queue INDEXED BY pawl_queue_expiry
WHERE fence = 0 AND expires_at <= :now
ORDER BY expires_at, id LIMIT :limit

-- part: late_dead_letters
SELECT id FROM pawl_outcome INDEXED BY pawl_outcome_expiry
WHERE state = @STATE_FAILED@ AND expires_at <= :now
ORDER BY expires_at, id LIMIT :limit

-- part: kept_long_enough
SELECT id FROM pawl_outcome INDEXED BY pawl_outcome_age
WHERE state IN (@STATES_NOT_KEPT@) AND finished_at <= :now - :keep
ORDER BY finished_at, id LIMIT :limit

-- part: empty_lanes
SELECT @columns@
FROM (SELECT * FROM pawl_lane_stats WHERE lane_id > :after_id ORDER BY lane_id LIMIT :limit) t
CROSS JOIN pawl_lane l ON l.id = t.lane_id
WHERE t.running = 0 AND t.used_at <= :now - 300000000
  AND NOT EXISTS (SELECT 1 FROM pawl_queue q INDEXED BY pawl_queue_due
                  WHERE q.lane_id = t.lane_id AND q.fence = 0)

-- name: reap
-- End expired leases, found through the claim rows whose check is due. Counts the attempt, so that a message
-- that crashes its worker fails eventually instead of being retried without limit. A message with a destination
-- is deferred, unless every send of it counts: an interrupted delivery is not a refusal by the destination, and
-- its time to live ends the message in any case.
-- @stop-unless-changed
UPDATE pawl_meta SET latest_time = :now
WHERE id = 1 AND EXISTS (SELECT 1 FROM pawl_claim INDEXED BY pawl_claim_check WHERE check_at <= :now);

-- The number of claims read; the rows after this one have the number of changed messages.
SELECT 0, count(*) FROM (SELECT 1 FROM pawl_claim INDEXED BY pawl_claim_check
                         WHERE check_at <= :now LIMIT :limit);

INSERT OR FAIL INTO pawl_outcome (id, state, finished_at, retries, processed_by, error, expires_at, progress)
SELECT q.id, @STATE_FAILED@, :now, q.retries + 1, due.owner_name, 'the lease expired on the last attempt', q.expires_at,
       q.progress
-- @include reaped_at_the_last_attempt
;

UPDATE OR FAIL pawl_lane_stats
SET running = running - overdue.n, failed = failed + overdue.ended
FROM (SELECT q.lane_id, count(*) AS n,
             sum(
             -- @include at_the_last_attempt
             ) AS ended
      -- @include reaped
      CROSS JOIN pawl_body b ON b.id = q.id
      WHERE q.lease_until <= :now
      GROUP BY q.lane_id) overdue
WHERE pawl_lane_stats.lane_id = overdue.lane_id;

INSERT OR IGNORE INTO pawl_dead (id, run_at)
SELECT q.id, :now
-- @include reaped_at_the_last_attempt
  AND (SELECT t.dead FROM pawl_lane_stats t WHERE t.lane_id = q.lane_id);

DELETE FROM pawl_queue
WHERE id IN (SELECT q.id
             -- @include reaped_at_the_last_attempt
             );

SELECT changes(), 0;

UPDATE OR FAIL pawl_queue
SET retries = retries + (SELECT b.destination IS NULL OR b.count_all IS 1
                         FROM pawl_body b WHERE b.id = pawl_queue.id),
    deferrals = deferrals + (SELECT b.destination IS NOT NULL AND b.count_all IS NOT 1
                             FROM pawl_body b WHERE b.id = pawl_queue.id),
    owner = zeroblob(16), lease_until = 0, fence = 0, run_at = :now, last_error = 'the lease expired'
WHERE id IN (SELECT q.id
             -- @include reaped
             WHERE q.lease_until <= :now);

SELECT changes(), 0;

UPDATE OR FAIL pawl_job_run
SET state = @STATE_READY@, attempts = (SELECT retries FROM pawl_queue WHERE id = work_id),
    error = (SELECT last_error FROM pawl_queue WHERE id = work_id)
WHERE state = @STATE_RUNNING@
  AND id IN (SELECT q.run_id
             FROM (
                 -- @include due_claims columns=ids
                 ) due
             CROSS JOIN json_each(due.ids) j
             CROSS JOIN pawl_queue q ON q.id = j.value
             WHERE q.fence = 0 AND q.run_id IS NOT NULL);

-- Check claims with renewed messages again when the first of these leases ends. That is in the future, because
-- leases that have ended were handled above.
UPDATE OR FAIL pawl_claim
SET check_at = (SELECT min(h.lease_until) FROM pawl_owned h WHERE h.fence = pawl_claim.fence)
WHERE fence IN (
    -- @include due_claims columns=fence
    )
  AND EXISTS (SELECT 1 FROM pawl_owned h WHERE h.fence = pawl_claim.fence);

-- Remove claims without messages. The claims that were just moved have made room for others that were not
-- scanned; of those, too, only the ones without messages are removed.
DELETE FROM pawl_claim
WHERE fence IN (
    -- @include due_claims columns=fence
    )
  AND NOT EXISTS (SELECT 1 FROM pawl_owned h WHERE h.fence = pawl_claim.fence);

-- name: expire
-- Expire messages that are not claimed and past their time to live, then failed messages past theirs. If there
-- are none, nothing is written.
UPDATE pawl_meta SET latest_time = :now
WHERE id = 1
  AND (EXISTS (SELECT 1 FROM pawl_queue INDEXED BY pawl_queue_expiry
               WHERE fence = 0 AND expires_at <= :now)
       OR EXISTS (SELECT 1 FROM pawl_outcome INDEXED BY pawl_outcome_expiry
                  WHERE state = @STATE_FAILED@ AND expires_at <= :now));

INSERT OR FAIL INTO pawl_outcome (id, state, finished_at, retries, error, progress)
-- @include late_messages columns='id, @STATE_EXPIRED@, :now, retries, last_error, progress'
;

UPDATE OR FAIL pawl_lane_stats
SET expired = expired + gone.n
FROM (SELECT lane_id, count(*) AS n
      FROM (
          -- @include late_messages columns=lane_id
          )
      GROUP BY lane_id) gone
WHERE pawl_lane_stats.lane_id = gone.lane_id;

INSERT OR IGNORE INTO pawl_dead (id, run_at)
SELECT late.id, :now
FROM (
    -- @include late_messages columns='id, lane_id'
    ) late
CROSS JOIN pawl_lane_stats t ON t.lane_id = late.lane_id
WHERE t.dead;

DELETE FROM pawl_queue
WHERE id IN (
    -- @include late_messages columns=id
    );

SELECT changes();

-- These are dead letters already, and were recorded when they failed.
INSERT INTO pawl_topic_stats (topic, expired, changed_at)
SELECT b.topic, count(*), :now
FROM (
    -- @include late_dead_letters
    ) late
CROSS JOIN pawl_body b ON b.id = late.id
WHERE true
GROUP BY b.topic
ON CONFLICT (topic) DO UPDATE SET expired = expired + excluded.expired, changed_at = excluded.changed_at;

UPDATE OR FAIL pawl_outcome SET state = @STATE_EXPIRED@, expires_at = NULL
WHERE id IN (
    -- @include late_dead_letters
    );

SELECT changes();

-- name: prune
-- Delete messages that were done or cancelled longer than :keep ago. The body is deleted first, while the
-- outcome still identifies it.
DELETE FROM pawl_body
WHERE id IN (
    -- @include kept_long_enough
    );

DELETE FROM pawl_outcome
WHERE id IN (
    -- @include kept_long_enough
    );

SELECT changes(), changes();

-- The counts of topics that have no lane and no message that ended since then.
DELETE FROM pawl_topic_stats
WHERE topic IN (SELECT topic FROM pawl_topic_stats o INDEXED BY pawl_topic_stats_age
                WHERE changed_at <= :now - :keep
                  AND NOT EXISTS (SELECT 1 FROM pawl_lane l INDEXED BY pawl_lane_name WHERE l.topic = o.topic)
                ORDER BY changed_at LIMIT :limit);

SELECT 0, changes();

-- name: compact_stats
-- Remove lanes that are empty and from which nothing was claimed for five minutes, so that the cost of claims
-- depends on the waiting messages and not on all topics that ever existed. Of the lanes after :after_id only
-- :limit are read, however many have waiting messages: the next call continues there. SQLite has one writer at a
-- time, so no message can be added to a lane meanwhile. (An empty lane from which nothing was ever claimed is
-- removed at once. After the clock was set back, lanes are removed when it has caught up.) The lanes' totals are
-- added to the topic's. Returns the number of lanes read, and the last of them.
--
-- Claimed messages are counted in "running"; all others have an index entry.
SELECT 0, count(*), max(lane_id)
FROM (SELECT lane_id FROM pawl_lane_stats WHERE lane_id > :after_id ORDER BY lane_id LIMIT :limit);

-- @stop-unless-changed
INSERT INTO pawl_topic_stats (topic, done, failed, expired, cancelled, retried_by_user, changed_at)
SELECT topic, sum(done), sum(failed), sum(expired), sum(cancelled), sum(retried_by_user), :now
FROM (
    -- @include empty_lanes columns='l.topic, t.done, t.failed, t.expired, t.cancelled, t.retried_by_user'
    )
WHERE true
GROUP BY topic
ON CONFLICT (topic) DO UPDATE
SET done = done + excluded.done, failed = failed + excluded.failed, expired = expired + excluded.expired,
    cancelled = cancelled + excluded.cancelled, retried_by_user = retried_by_user + excluded.retried_by_user,
    changed_at = excluded.changed_at;

DELETE FROM pawl_lane_stats
WHERE lane_id IN (
    -- @include empty_lanes columns=t.lane_id
    );

DELETE FROM pawl_lane
WHERE id IN (SELECT id FROM pawl_lane WHERE id > :after_id ORDER BY id LIMIT :limit)
  AND NOT EXISTS (SELECT 1 FROM pawl_lane_stats t WHERE t.lane_id = pawl_lane.id);

-- sql/sqlite/message.sql - read, list, count and change messages.

-- part: state_now
-- The state by the store's clock, which decides whether a message has expired and is due. The view has only the
-- part of the clock that SQL can read.
CASE WHEN m.state IN (@STATE_READY@, @STATE_SCHEDULED@, @STATE_FAILED@) AND m.expires_at <= :now THEN @STATE_EXPIRED@
     WHEN m.state IN (@STATE_READY@, @STATE_SCHEDULED@)
     THEN CASE WHEN m.next_attempt_at > :now THEN @STATE_SCHEDULED@ ELSE @STATE_READY@ END
     ELSE m.state END

-- part: state_of_view
-- A message past its expiry reads as expired even before maintenance has moved it; one that is not due yet
-- reads as scheduled.
CASE WHEN q.fence <> 0 THEN @STATE_RUNNING@
     WHEN q.expires_at <= (SELECT now FROM pawl_clock) THEN @STATE_EXPIRED@
     WHEN o.state = @STATE_FAILED@ AND o.expires_at <= (SELECT now FROM pawl_clock) THEN @STATE_EXPIRED@
     WHEN q.run_at > (SELECT now FROM pawl_clock) THEN @STATE_SCHEDULED@
     ELSE coalesce(o.state, @STATE_READY@) END

-- part: state_word
CASE state WHEN @STATE_SCHEDULED@ THEN 'scheduled' WHEN @STATE_READY@ THEN 'ready' WHEN @STATE_RUNNING@ THEN 'running'
           WHEN @STATE_DONE@ THEN 'done' WHEN @STATE_FAILED@ THEN 'failed' WHEN @STATE_EXPIRED@ THEN 'expired'
           WHEN @STATE_CANCELLED@ THEN 'cancelled' END AS status,

-- part: listed_columns
-- @include message_columns row=m state=part:state_now payload='CASE WHEN :with_payload THEN m.payload END' \
--     output='CASE WHEN :with_payload THEN m.output END'

-- part: list_end
-- The messages of `seen` with their states by the store's clock, whether each matches (the last scanned row is
-- always returned, so that the next page can start there) and whether the scan ended at its limit.
matching AS (
    SELECT m.*,
           ((1 <<
           -- @include state_now
           ) & :states) <> 0
           AND (:topic IS NULL OR m.topic = :topic)
           AND (:correlation_id IS NULL OR m.correlation_id IS :correlation_id)
           AND (:created_before IS NULL OR m.created_at < :created_before) AS matches
    FROM seen CROSS JOIN pawl_message m ON m.id = seen.id)
-- @include listed_columns
       , m.matches AS matches, (SELECT count(*) FROM seen) = :scan AS bounded
FROM matching m
WHERE m.matches OR m.id = (SELECT min(id) FROM seen)
LIMIT :limit;

-- part: expire_id
-- A message past its time to live reads as expired before maintenance has moved it: expire it now.
-- @each
INSERT OR FAIL INTO pawl_outcome (id, state, finished_at, retries, error, progress)
SELECT id, @STATE_EXPIRED@, :now, retries, last_error, progress FROM pawl_queue
WHERE id = :id AND fence = 0 AND expires_at <= :now;
-- @each
UPDATE OR FAIL pawl_lane_stats SET expired = expired + 1
WHERE lane_id = (SELECT lane_id FROM pawl_queue WHERE id = :id) AND changes() = 1;
-- @each
DELETE FROM pawl_queue WHERE id = :id AND changes() = 1;

-- name: get
-- One message by its work id.
-- @include message_columns row=m state=part:state_now
FROM pawl_message m
WHERE m.id = :id;

-- name: find
-- One message by its message id.
-- @include message_columns row=m state=part:state_now
FROM pawl_message m
WHERE m.id = (SELECT id FROM pawl_body INDEXED BY pawl_body_message WHERE message_id = :message_id);

-- name: list_any
-- All messages, newest first. Scans at most :scan rows, like the next two.
WITH seen AS MATERIALIZED (
    SELECT id FROM pawl_body
    WHERE id < :before
    ORDER BY id DESC LIMIT :scan),
-- @include list_end

-- name: list_unfinished
-- Messages that are not finished, newest first.
WITH seen AS MATERIALIZED (
    SELECT id FROM pawl_queue
    WHERE id < :before
    ORDER BY id DESC LIMIT :scan),
-- @include list_end

-- name: list_dead
-- Failed, expired and cancelled messages, newest first. Includes messages past their time to live that
-- maintenance has not moved yet. Where a worker runs there are few. If there are more than :scan, all
-- unfinished messages are scanned in id order.
WITH ended AS MATERIALIZED (
    SELECT id FROM pawl_outcome INDEXED BY pawl_outcome_dead
    WHERE state >= @STATE_FAILED@ AND id < :before
    ORDER BY id DESC LIMIT :scan),
few AS MATERIALIZED (
    SELECT id FROM pawl_queue INDEXED BY pawl_queue_expiry
    WHERE fence = 0 AND expires_at <= :now LIMIT :scan),
late AS MATERIALIZED (
    SELECT id FROM few WHERE id < :before AND (SELECT count(*) FROM few) < :scan
    UNION ALL
    SELECT id FROM (SELECT id FROM pawl_queue WHERE id < :before
                    ORDER BY id DESC
                    LIMIT CASE WHEN (SELECT count(*) FROM few) = :scan THEN :scan ELSE 0 END)),
seen AS MATERIALIZED (
    SELECT id FROM (SELECT id FROM ended UNION ALL SELECT id FROM late)
    ORDER BY id DESC LIMIT :scan),
-- @include list_end

-- name: stats
-- Message counts per topic: unfinished messages, counted up to :cap per lane, and finished ones. For topics
-- that reached the cap, the estimate is the total minus the exact counts. A message past its time to live
-- counts as expired even before maintenance has moved it.
WITH late AS MATERIALIZED (
    SELECT lane_id, count(*) AS n
    FROM (SELECT lane_id FROM pawl_queue INDEXED BY pawl_queue_expiry
          WHERE fence = 0 AND expires_at <= :now LIMIT :cap)
    GROUP BY lane_id),
depth AS MATERIALIZED (
    SELECT l.topic, t.running, t.done, t.failed, t.cancelled,
           t.expired + coalesce((SELECT n FROM late WHERE lane_id = l.id), 0) AS expired,
           coalesce((SELECT n FROM late WHERE lane_id = l.id), 0) AS late,
           (SELECT count(*) FROM (SELECT 1 FROM pawl_queue q INDEXED BY pawl_queue_due
                                  WHERE q.lane_id = l.id AND q.fence = 0 LIMIT :cap)) AS ready,
           (SELECT q.run_at FROM pawl_queue q INDEXED BY pawl_queue_due
            WHERE q.lane_id = l.id AND q.fence = 0 AND q.run_at <= :now
              AND (q.expires_at IS NULL OR q.expires_at > :now)
            ORDER BY q.run_at LIMIT 1) AS oldest
    FROM pawl_lane l CROSS JOIN pawl_lane_stats t ON t.lane_id = l.id
    UNION ALL
    SELECT topic, 0, done, failed, cancelled, expired, 0, 0, NULL FROM pawl_topic_stats
    UNION ALL -- dead letters; their lane may have been removed
    SELECT * FROM (SELECT b.topic, 0, 0, 0, 0, 1, 0, 0, NULL
                   FROM pawl_outcome o INDEXED BY pawl_outcome_expiry
                   CROSS JOIN pawl_body b ON b.id = o.id
                   WHERE o.state = @STATE_FAILED@ AND o.expires_at <= :now LIMIT :cap)),
topic AS MATERIALIZED (
    SELECT topic, sum(max(ready - late, 0)) AS ready, sum(running) AS running,
           sum(max(ready - late, 0)) + sum(running) AS n,
           max(ready) >= :cap AS at_least, min(oldest) AS oldest, sum(done) AS done,
           sum(failed) AS failed, sum(expired) AS expired, sum(cancelled) AS cancelled
    FROM depth GROUP BY topic)
SELECT topic, ready, running, at_least,
       CASE WHEN at_least
            THEN max(n, ((SELECT max(id) FROM pawl_queue) - (SELECT min(id) FROM pawl_queue) + 1
                         - (SELECT coalesce(sum(n), 0) FROM topic WHERE NOT at_least))
                        / (SELECT count(*) FROM topic WHERE at_least))
            ELSE n END,
       done, failed, expired, cancelled, oldest
FROM topic
ORDER BY topic;

-- name: cancel
-- Cancel messages that are ready or running. The holder's fence no longer matches any row.
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;
-- Remove the message's claim too if this was its last message; afterwards the claim could not be found.
-- @each
DELETE FROM pawl_claim
WHERE fence = (SELECT fence FROM pawl_queue WHERE id = :id AND fence <> 0)
  AND NOT EXISTS (SELECT 1 FROM json_each(pawl_claim.ids) j
                  CROSS JOIN pawl_queue q ON q.id = j.value AND q.fence = pawl_claim.fence
                  WHERE q.id <> :id);
-- @each
INSERT OR FAIL INTO pawl_outcome (id, state, finished_at, retries, error, progress)
SELECT id, @STATE_CANCELLED@, :now, retries, last_error, progress FROM pawl_queue WHERE id = :id;
-- @each
UPDATE OR FAIL pawl_lane_stats
SET running = running - (SELECT fence <> 0 FROM pawl_queue WHERE id = :id), cancelled = cancelled + 1
WHERE lane_id = (SELECT lane_id FROM pawl_queue WHERE id = :id) AND changes() = 1;
-- @each
DELETE FROM pawl_queue WHERE id = :id AND changes() = 1;
-- @each
SELECT changes();

-- name: retry
-- Make dead letters ready again: 0 attempts, due now, with the original time to live.
-- @include expire_id
-- (Between the two, so that each is done for all ids: an id that is given twice is changed once.)
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;
-- @each
INSERT OR IGNORE INTO pawl_lane (topic, priority, destination)
SELECT b.topic, b.priority, coalesce(b.destination, '')
FROM pawl_outcome o CROSS JOIN pawl_body b ON b.id = o.id
WHERE o.id = :id AND o.state >= @STATE_FAILED@;
-- @each
INSERT OR FAIL INTO pawl_queue (id, lane_id, run_at, expires_at, lease, run_id, last_error)
SELECT b.id,
       -- @include lane_of_body
       ,
       :now, :now + min(b.expires_at - max(b.due_at, b.created_at), @TTL_MAX@000), b.lease, b.run_id, o.error
FROM pawl_outcome o CROSS JOIN pawl_body b ON b.id = o.id
WHERE o.id = :id AND o.state >= @STATE_FAILED@;
-- @each
UPDATE OR FAIL pawl_lane_stats SET retried_by_user = retried_by_user + 1
WHERE lane_id = (SELECT lane_id FROM pawl_queue WHERE id = :id) AND changes() = 1;
-- @each
DELETE FROM pawl_outcome WHERE id = :id AND changes() = 1;
-- @each
SELECT changes();
-- @each
DELETE FROM pawl_dead WHERE id = :id AND changes() = 1;
-- The job's run is unfinished again.
-- @each
UPDATE OR FAIL pawl_job_run SET state = @STATE_READY@, ended_at = NULL, attempts = 0
WHERE id = (SELECT run_id FROM pawl_queue WHERE id = :id) AND state IN (@STATES_DEAD@);

-- name: purge
-- Delete finished messages.
-- @include expire_id
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;
-- @each
DELETE FROM pawl_outcome WHERE id = :id;
-- @each
DELETE FROM pawl_body WHERE id = :id AND changes() = 1;
-- @each
SELECT changes();
-- @each
DELETE FROM pawl_dead WHERE id = :id AND changes() = 1;

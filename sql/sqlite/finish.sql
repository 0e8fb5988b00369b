-- sql/sqlite/finish.sql - finish, return or renew claimed messages.

-- part: ack
-- Done: the queue row is removed, an outcome row is added. Returns the number of messages; and which, '1' or '0'
-- for each row, if it is not all: as long as the queue rows are there, that can be seen.
-- @if-rows
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;

-- @if-rows
INSERT OR FAIL INTO pawl_outcome (id, state, finished_at, retries, processed_by, progress, output)
SELECT q.id, @STATE_DONE@, :now, q.retries, (SELECT owner_name FROM pawl_claim WHERE fence = q.fence), q.progress,
       r.output
FROM pawli_rows(:rows) r CROSS JOIN pawl_queue q ON q.id = r.id
WHERE q.fence = r.fence AND q.owner = :owner AND q.fence <> 0;

-- @if-rows
SELECT changes() AS changed,
       CASE WHEN changes() BETWEEN 1 AND :row_count - 1
            THEN (SELECT group_concat(was_held, '')
                  FROM (SELECT EXISTS (SELECT 1 FROM pawl_queue q
                                       WHERE q.id = r.id AND q.fence = r.fence AND q.owner = :owner
                                         AND q.fence <> 0) AS was_held
                        FROM pawli_rows(:rows) r ORDER BY r.rowid)) END AS which;

-- @if-rows
INSERT INTO pawl_lane_stats (lane_id, priority, running, done)
SELECT q.lane_id, 0, -count(*), count(*)
FROM pawli_rows(:rows) r CROSS JOIN pawl_queue q ON q.id = r.id
WHERE q.fence = r.fence AND q.owner = :owner AND q.fence <> 0
GROUP BY q.lane_id
ON CONFLICT (lane_id) DO UPDATE SET running = running + excluded.running, done = done + excluded.done;

-- @if-rows
DELETE FROM pawl_queue
WHERE id IN (SELECT q.id FROM pawli_rows(:rows) r CROSS JOIN pawl_queue q ON q.id = r.id
             WHERE q.fence = r.fence AND q.owner = :owner AND q.fence <> 0);

-- part: claim_ended
-- The claim row is removed with the last message that it covers. Messages mostly end in the order in which they
-- were claimed, so first check whether the last one is still held: that decides for almost every message of a
-- batch that is finished one by one.
-- @each
DELETE FROM pawl_claim
WHERE fence = :fence
  AND NOT EXISTS (SELECT 1 FROM pawl_queue q WHERE q.id = pawl_claim.last_id AND q.fence = pawl_claim.fence)
  AND NOT EXISTS (SELECT 1 FROM json_each(pawl_claim.ids) j
                  CROSS JOIN pawl_queue q ON q.id = j.value AND q.fence = pawl_claim.fence);

-- part: claims_ended
-- The same as claim_ended for all rows at once.
-- @if-rows
DELETE FROM pawl_claim
WHERE fence IN (SELECT fence FROM pawli_rows(:rows))
  AND NOT EXISTS (SELECT 1 FROM pawl_queue q WHERE q.id = pawl_claim.last_id AND q.fence = pawl_claim.fence)
  AND NOT EXISTS (SELECT 1 FROM json_each(pawl_claim.ids) j
                  CROSS JOIN pawl_queue q ON q.id = j.value AND q.fence = pawl_claim.fence);

-- part: run_ready
-- The job's run is ready again.
-- @each
UPDATE OR FAIL pawl_job_run
SET state = @STATE_READY@, attempts = (SELECT retries FROM pawl_queue WHERE id = :id),
    error = (SELECT last_error FROM pawl_queue WHERE id = :id)
WHERE id = (SELECT run_id FROM pawl_queue WHERE id = :id AND fence = 0) AND state = @STATE_RUNNING@;

-- part: given_back
-- @each
UPDATE OR FAIL pawl_lane_stats SET running = running - 1
WHERE lane_id = (SELECT lane_id FROM pawl_queue WHERE id = :id) AND changes() = 1;
-- @each
SELECT changes() AS changed;

-- part: give_back_later
-- Delay the next attempt by :delay, or by min(base * 2^(retries + deferrals), max) + random(0, jitter) of the
-- message's own or the given policy, limited to the bounds of a policy. A NULL jitter means a tenth of the
-- delay.
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;
-- @each
UPDATE OR FAIL pawl_queue
SET @counter@ = @counter@ + 1, owner = zeroblob(16), lease_until = 0, fence = 0,
    last_error = coalesce(:error, last_error),
    run_at = :now + coalesce(:delay, (
        SELECT delay + abs(random() % (1 + coalesce(max(0, min(@JITTER_MAX@000, jitter)), delay / 10)))
        FROM (SELECT max(0, min(coalesce(retry_base, CASE WHEN destination IS NULL THEN :local_base ELSE :remote_base END)
                                    -- too large for an integer, so a real number
                                    * (1 << min(pawl_queue.retries + pawl_queue.deferrals, 30)),
                                coalesce(retry_max, CASE WHEN destination IS NULL THEN :local_max ELSE :remote_max END),
                                @BACKOFF_MAX@000)) AS delay,
                     CASE WHEN retry_base IS NOT NULL THEN retry_jitter
                          WHEN destination IS NULL THEN :local_jitter ELSE :remote_jitter END AS jitter
              FROM pawl_body WHERE id = pawl_queue.id)))
WHERE id = :id AND fence = :fence AND owner = :owner AND fence <> 0;
-- @include given_back

-- part: dead_letter
-- Record it for the dead-letter handler, if the topic has one.
-- @each
INSERT OR IGNORE INTO pawl_dead (id, run_at)
SELECT b.id, :now FROM pawl_body b
WHERE b.id = :id AND changes() = 1
  AND EXISTS (SELECT 1 FROM pawl_topic t WHERE t.name IN ('', b.topic) AND t.dead);

-- name: ack
-- @include ack
-- @include claims_ended

-- name: ack_output
-- Acknowledge messages as done and store the handlers' output.
-- @include ack
-- @include claims_ended

-- name: abandon
-- Record a failed attempt: the message is retried later, or fails on its last attempt.
-- @include give_back_later counter=retries
-- On the last attempt:
-- @each
INSERT OR FAIL INTO pawl_outcome (id, state, finished_at, retries, processed_by, error, expires_at, progress)
SELECT q.id, @STATE_FAILED@, :now, q.retries, c.owner_name, q.last_error, q.expires_at, q.progress
FROM pawl_queue q
CROSS JOIN pawl_body b ON b.id = q.id
LEFT JOIN pawl_claim c ON c.fence = :fence
WHERE q.id = :id AND changes() = 1 AND b.max_attempts > 0 AND q.retries >= b.max_attempts;
-- @each
UPDATE OR FAIL pawl_lane_stats SET failed = failed + 1
WHERE lane_id = (SELECT lane_id FROM pawl_queue WHERE id = :id) AND changes() = 1;
-- @each
DELETE FROM pawl_queue WHERE id = :id AND changes() = 1;
-- @include dead_letter
-- @include run_ready
-- @include claim_ended

-- name: defer
-- Return messages for a later retry without counting an attempt.
-- @include give_back_later counter=deferrals
-- @include run_ready
-- @include claim_ended

-- name: fail
-- Fail messages permanently. They are dead letters until they are retried or purged.
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;
-- @each
INSERT OR FAIL INTO pawl_outcome (id, state, finished_at, retries, processed_by, error, expires_at, progress)
SELECT q.id, @STATE_FAILED@, :now, q.retries + 1, c.owner_name, coalesce(:error, q.last_error), q.expires_at, q.progress
FROM pawl_queue q LEFT JOIN pawl_claim c ON c.fence = q.fence
WHERE q.id = :id AND q.fence = :fence AND q.owner = :owner AND q.fence <> 0;
-- @each
UPDATE OR FAIL pawl_lane_stats SET running = running - 1, failed = failed + 1
WHERE lane_id = (SELECT lane_id FROM pawl_queue WHERE id = :id) AND changes() = 1;
-- @each
DELETE FROM pawl_queue WHERE id = :id AND changes() = 1;
-- @each
SELECT changes() AS changed;
-- @include dead_letter
-- @include claim_ended

-- name: release
-- Make messages ready again at once without counting an attempt.
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;
-- @each
UPDATE OR FAIL pawl_queue SET owner = zeroblob(16), lease_until = 0, fence = 0, run_at = :now
WHERE id = :id AND fence = :fence AND owner = :owner AND fence <> 0;
-- @include given_back
-- @include run_ready
-- @include claim_ended

-- name: renew
-- Extend leases. reap sees the new end at the claim's next check. For a shortened lease that would be too late,
-- so the check is moved forward; an unnecessary check is cheap.
-- @each
UPDATE OR FAIL pawl_claim SET check_at = :now + :lease
WHERE fence = :fence AND owner = :owner AND check_at > :now + :lease;
-- @each
UPDATE OR FAIL pawl_queue SET lease_until = :now + min(coalesce(lease, :lease), @LEASE_MAX@000)
WHERE id = :id AND fence = :fence AND owner = :owner AND fence <> 0;
-- @each
SELECT changes() AS changed;

-- name: progress
-- Store the progress text of the handler.
-- @each
UPDATE OR FAIL pawl_queue SET progress = :text
WHERE id = :id AND fence = :fence AND owner = :owner AND fence <> 0;
-- @each
SELECT changes() AS changed;

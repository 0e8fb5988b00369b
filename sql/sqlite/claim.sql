-- sql/sqlite/claim.sql - claim messages under a lease.

-- part: next_fence
       -- The next fencing token. Tokens that this connection does not know of may have been issued.
       (SELECT CASE WHEN pawli_first() THEN max(fence, fence_mark) ELSE fence END + 1
        FROM pawl_meta WHERE id = 1)

-- part: fence_mark
    -- Tokens beyond the mark are not issued before a higher mark is durable.
    fence_mark = CASE WHEN fence >= fence_mark OR pawli_first()
                      THEN max(fence, fence_mark) + 1000 * pawli_must_last()
                      ELSE fence_mark END,

-- part: draw_fence
UPDATE pawl_meta
SET fence =
-- @include next_fence
       ,
-- @include fence_mark
    latest_time = :now
WHERE id = 1

-- part: claim_row
-- The claim row is written first and lists the messages; if nothing is due, nothing is written.
-- @stop-unless-changed
INSERT OR FAIL INTO pawl_claim (fence, owner, owner_name, check_at, has_job_runs, last_id, ids)
SELECT
-- @include next_fence
       , :owner, :owner_name, check_at, has_job_runs, last_id, ids
FROM (SELECT count(*) AS n, :now + min(min(coalesce(lease, :lease)), @LEASE_MAX@000) AS check_at,
             max(run_id IS NOT NULL) AS has_job_runs, max(id) AS last_id, json_group_array(id) AS ids

-- part: claim_end
-- The claim row is written: draw its token, mark its messages as claimed, return them.
UPDATE pawl_meta
SET fence = last_insert_rowid(),
-- @include fence_mark
    latest_time = :now
WHERE id = 1;

UPDATE OR FAIL pawl_queue
SET owner = :owner, lease_until = :now + min(coalesce(lease, :lease), @LEASE_MAX@000),
    fence = (SELECT fence FROM pawl_meta WHERE id = 1)
WHERE id IN (SELECT j.value FROM pawl_claim c CROSS JOIN json_each(c.ids) j
             WHERE c.fence = (SELECT fence FROM pawl_meta WHERE id = 1));

INSERT INTO pawl_lane_stats (lane_id, priority, last_claim_fence, used_at, running)
SELECT h.lane_id, 0, h.fence, :now, count(*)
FROM pawl_owned h
WHERE h.fence = (SELECT fence FROM pawl_meta WHERE id = 1)
GROUP BY h.lane_id
ON CONFLICT (lane_id) DO UPDATE SET last_claim_fence = excluded.last_claim_fence, used_at = excluded.used_at, running = running + excluded.running;

-- The columns of pawl_message, without a lookup of the outcome, which cannot exist. json_each returns the
-- array's order, which is the claim's; sorting would copy the payloads.
-- @include message_columns row=b expires_at='coalesce(q.expires_at, b.expires_at)' retries=q.retries \
--     state=@STATE_RUNNING@ fence=c.fence owner=c.owner claimed_by=c.owner_name lease_until=q.lease_until \
--     next_attempt_at=q.run_at finished_at=NULL processed_by=NULL last_error=q.last_error progress=q.progress \
--     output=NULL deferrals=q.deferrals
FROM pawl_claim c
CROSS JOIN json_each(c.ids) j
CROSS JOIN pawl_queue q ON q.id = j.value
CROSS JOIN pawl_body b ON b.id = q.id
WHERE c.fence = (SELECT fence FROM pawl_meta WHERE id = 1);

-- Update the history of jobs if the claim has job runs.
-- @stop-unless-changed
UPDATE OR FAIL pawl_claim SET has_job_runs = 0 WHERE fence = (SELECT fence FROM pawl_meta WHERE id = 1) AND has_job_runs > 0;

UPDATE OR FAIL pawl_job_run
SET state = @STATE_RUNNING@, started_at = coalesce(started_at, :now), claimed_at = :now, claimed_by = :owner_name,
    attempts = 1 + (SELECT retries FROM pawl_queue WHERE id = work_id),
    pending_events = pending_events + (started_at IS NULL
                   AND EXISTS (SELECT 1 FROM pawl_job WHERE id = job_id AND awaited_run = pawl_job_run.id))
WHERE id IN (SELECT q.run_id
             FROM pawl_claim c
             CROSS JOIN json_each(c.ids) j
             CROSS JOIN pawl_queue q ON q.id = j.value
             WHERE c.fence = (SELECT fence FROM pawl_meta WHERE id = 1) AND q.run_id IS NOT NULL);

-- name: claim
-- Claim messages for local handlers that are ready and due. Each lane is one bounded index range, scanned until
-- there are enough: lanes of higher priority first, then the one that has waited longest since its last claim.
-- @include claim_row
      FROM (SELECT q.id, q.lease, q.run_id
            FROM pawl_lane_stats t INDEXED BY pawl_lane_stats_order
            CROSS JOIN pawl_queue q INDEXED BY pawl_queue_due
                    ON q.lane_id = t.lane_id AND q.fence = 0 AND q.run_at <= :now
            WHERE t.paused = 0 AND t.destination = ''
              AND (:topics IS NULL
                   OR (SELECT topic FROM pawl_lane WHERE id = t.lane_id)
                      IN (SELECT value FROM json_each(:topics)))
              AND (q.expires_at IS NULL OR q.expires_at > :now)
            ORDER BY t.priority DESC, t.last_claim_fence
            LIMIT :limit))
WHERE n > 0;

-- @include claim_end

-- name: claim_remote
-- Claim messages for the destinations that are ready and due, in their order, for each at most the number in
-- :limits. A LIMIT cannot depend on a row, so up to :most rows, the highest of the limits, are scanned for
-- each. Within a destination as in claim: lanes of higher priority first, then the one that has waited longest.
-- @include claim_row
      FROM (SELECT f.id, f.lease, f.run_id
            FROM json_each(:destinations) named
            CROSS JOIN json_each(
                (SELECT json_group_array(id)
                 FROM (SELECT q.id
                       FROM pawl_lane_stats t INDEXED BY pawl_lane_stats_order
                       CROSS JOIN pawl_queue q INDEXED BY pawl_queue_due
                               ON q.lane_id = t.lane_id AND q.fence = 0 AND q.run_at <= :now
                       WHERE t.paused = 0 AND t.destination = named.value
                         AND (q.expires_at IS NULL OR q.expires_at > :now)
                       ORDER BY t.priority DESC, t.last_claim_fence
                       LIMIT :most))) j
            CROSS JOIN pawl_queue f ON f.id = j.value
            WHERE named.value > ''
              AND (:limits IS NULL OR j.key < json_extract(:limits, '$[' || named.key || ']'))
            LIMIT :limit))
WHERE n > 0;

-- @include claim_end

-- name: owned
-- The messages that an owner holds now.
SELECT m.*
FROM pawl_claim c INDEXED BY pawl_claim_owner
CROSS JOIN json_each(c.ids) j
CROSS JOIN pawl_message m ON m.id = j.value AND m.fence = c.fence
WHERE c.owner = :owner
ORDER BY c.fence, j.key;

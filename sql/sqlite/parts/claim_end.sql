-- The claim row is written: draw its token, mark what it names, answer it.
UPDATE pawl_meta
SET fence = last_insert_rowid(),
-- @include fence_mark
    latest_time = :now
WHERE id = 1;

UPDATE OR FAIL pawl_queue
SET owner = :owner, lease_until = :now + min(coalesce(lease, :lease), @LEASE_MOST@000),
    fence = (SELECT fence FROM pawl_meta WHERE id = 1)
WHERE id IN (SELECT j.value FROM pawl_claim c CROSS JOIN json_each(c.ids) j
             WHERE c.fence = (SELECT fence FROM pawl_meta WHERE id = 1));

INSERT INTO pawl_tally (lane_id, priority, turn, used_at, held)
SELECT h.lane_id, 0, h.fence, :now, count(*)
FROM pawl_held h
WHERE h.fence = (SELECT fence FROM pawl_meta WHERE id = 1)
GROUP BY h.lane_id
ON CONFLICT (lane_id) DO UPDATE SET turn = excluded.turn, used_at = excluded.used_at, held = held + excluded.held;

-- The columns of pawl_message, without looking for an outcome that cannot be there. json_each answers
-- in the array's order, which is the claim's; sorting would copy the payloads.
SELECT b.id, b.message_id, b.topic, b.payload, b.type, b.destination, b.headers, b.correlation_id,
       b.priority, b.created_at, b.due_at, coalesce(q.expires_at, b.expires_at), b.max_attempts,
       q.retries, 1, c.fence, c.owner, c.owner_name, q.lease_until, q.run_at, NULL, NULL, q.last_error,
       q.progress, b.timeout, b.heartbeat, b.run_id, NULL, q.deferrals, b.retry_base,
       b.retry_max, b.retry_jitter, b.count_all
FROM pawl_claim c
CROSS JOIN json_each(c.ids) j
CROSS JOIN pawl_queue q ON q.id = j.value
CROSS JOIN pawl_body b ON b.id = q.id
WHERE c.fence = (SELECT fence FROM pawl_meta WHERE id = 1);

-- The history of jobs, if runs are among them.
-- @stop-unless-changed
UPDATE OR FAIL pawl_claim SET runs = 0 WHERE fence = (SELECT fence FROM pawl_meta WHERE id = 1) AND runs > 0;

UPDATE OR FAIL pawl_job_run
SET state = 1, started_at = coalesce(started_at, :now), claimed_at = :now, claimed_by = :owner_name,
    attempts = 1 + (SELECT retries FROM pawl_queue WHERE id = work_id),
    news = news + (started_at IS NULL
                   AND EXISTS (SELECT 1 FROM pawl_job WHERE id = job_id AND awaited_run = pawl_job_run.id))
WHERE id IN (SELECT q.run_id
             FROM pawl_claim c
             CROSS JOIN json_each(c.ids) j
             CROSS JOIN pawl_queue q ON q.id = j.value
             WHERE c.fence = (SELECT fence FROM pawl_meta WHERE id = 1) AND q.run_id IS NOT NULL);

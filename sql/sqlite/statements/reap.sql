-- Expired leases, found through the claim rows whose check is due. Counts the attempt, so that a
-- message that kills its worker ends as failed instead of circling for ever. A message with a destination
-- is deferred, unless every send of it counts: that its delivery was killed is not the destination's
-- refusal, and its time to live ends it in any case.
-- @stop-unless-changed
UPDATE pawl_meta SET latest_time = :now
WHERE id = 1 AND EXISTS (SELECT 1 FROM pawl_claim INDEXED BY pawl_claim_check WHERE check_at <= :now);

-- How many claims are read; the rows after this one say how many messages changed.
SELECT 0, count(*) FROM (SELECT 1 FROM pawl_claim INDEXED BY pawl_claim_check
                         WHERE check_at <= :now LIMIT :limit);

INSERT OR FAIL INTO pawl_outcome (id, state, finished_at, retries, processed_by, error, expires_at, progress)
SELECT q.id, 3, :now, q.retries + 1, due.owner_name, 'the lease ran out at the last attempt', q.expires_at,
       q.progress
FROM (SELECT fence, owner_name, ids FROM pawl_claim INDEXED BY pawl_claim_check
      WHERE check_at <= :now ORDER BY check_at, fence LIMIT :limit) due
CROSS JOIN json_each(due.ids) j
CROSS JOIN pawl_queue q ON q.id = j.value AND q.fence = due.fence
CROSS JOIN pawl_body b ON b.id = q.id
WHERE q.lease_until <= :now AND (b.destination IS NULL OR b.count_all IS 1) AND q.retries + 1 >= b.max_attempts;

UPDATE OR FAIL pawl_tally
SET held = held - overdue.n, failed = failed + overdue.ended
FROM (SELECT q.lane_id, count(*) AS n, sum((b.destination IS NULL OR b.count_all IS 1)
                                             AND q.retries + 1 >= b.max_attempts) AS ended
      FROM (SELECT fence, ids FROM pawl_claim INDEXED BY pawl_claim_check
            WHERE check_at <= :now ORDER BY check_at, fence LIMIT :limit) due
      CROSS JOIN json_each(due.ids) j
      CROSS JOIN pawl_queue q ON q.id = j.value AND q.fence = due.fence
      CROSS JOIN pawl_body b ON b.id = q.id
      WHERE q.lease_until <= :now
      GROUP BY q.lane_id) overdue
WHERE pawl_tally.lane_id = overdue.lane_id;

INSERT OR IGNORE INTO pawl_dead (id, run_at)
SELECT q.id, :now
FROM (SELECT fence, ids FROM pawl_claim INDEXED BY pawl_claim_check
      WHERE check_at <= :now ORDER BY check_at, fence LIMIT :limit) due
CROSS JOIN json_each(due.ids) j
CROSS JOIN pawl_queue q ON q.id = j.value AND q.fence = due.fence
CROSS JOIN pawl_body b ON b.id = q.id
CROSS JOIN pawl_tally t ON t.lane_id = q.lane_id
WHERE q.lease_until <= :now AND (b.destination IS NULL OR b.count_all IS 1) AND q.retries + 1 >= b.max_attempts AND t.dead;

DELETE FROM pawl_queue
WHERE id IN (SELECT q.id
             FROM (SELECT fence, ids FROM pawl_claim INDEXED BY pawl_claim_check
                   WHERE check_at <= :now ORDER BY check_at, fence LIMIT :limit) due
             CROSS JOIN json_each(due.ids) j
             CROSS JOIN pawl_queue q ON q.id = j.value AND q.fence = due.fence
             CROSS JOIN pawl_body b ON b.id = q.id
             WHERE q.lease_until <= :now AND (b.destination IS NULL OR b.count_all IS 1) AND q.retries + 1 >= b.max_attempts);

SELECT changes(), 0;

UPDATE OR FAIL pawl_queue
SET retries = retries + (SELECT b.destination IS NULL OR b.count_all IS 1
                         FROM pawl_body b WHERE b.id = pawl_queue.id),
    deferrals = deferrals + (SELECT b.destination IS NOT NULL AND b.count_all IS NOT 1
                             FROM pawl_body b WHERE b.id = pawl_queue.id),
    owner = zeroblob(16), lease_until = 0, fence = 0, run_at = :now, last_error = 'the lease ran out'
WHERE id IN (SELECT q.id
             FROM (SELECT fence, ids FROM pawl_claim INDEXED BY pawl_claim_check
                   WHERE check_at <= :now ORDER BY check_at, fence LIMIT :limit) due
             CROSS JOIN json_each(due.ids) j
             CROSS JOIN pawl_queue q ON q.id = j.value AND q.fence = due.fence
             WHERE q.lease_until <= :now);

SELECT changes(), 0;

UPDATE OR FAIL pawl_job_run
SET state = 0, attempts = (SELECT retries FROM pawl_queue WHERE id = work_id),
    error = (SELECT last_error FROM pawl_queue WHERE id = work_id)
WHERE state = 1
  AND id IN (SELECT q.run_id
             FROM (SELECT ids FROM pawl_claim INDEXED BY pawl_claim_check
                   WHERE check_at <= :now ORDER BY check_at, fence LIMIT :limit) due
             CROSS JOIN json_each(due.ids) j
             CROSS JOIN pawl_queue q ON q.id = j.value
             WHERE q.fence = 0 AND q.run_id IS NOT NULL);

-- Claims with renewed items are looked at again when the first of these leases ends. That is later than
-- now: what ended by now was taken back above.
UPDATE OR FAIL pawl_claim
SET check_at = (SELECT min(h.lease_until) FROM pawl_held h WHERE h.fence = pawl_claim.fence)
WHERE fence IN (SELECT fence FROM pawl_claim INDEXED BY pawl_claim_check
                WHERE check_at <= :now ORDER BY check_at, fence LIMIT :limit)
  AND EXISTS (SELECT 1 FROM pawl_held h WHERE h.fence = pawl_claim.fence);

-- Those with nothing left go. The claims that moved just now have made room for some that were not looked
-- at; of those, too, only the ones with nothing left go.
DELETE FROM pawl_claim
WHERE fence IN (SELECT fence FROM pawl_claim INDEXED BY pawl_claim_check
                WHERE check_at <= :now ORDER BY check_at, fence LIMIT :limit)
  AND NOT EXISTS (SELECT 1 FROM pawl_held h WHERE h.fence = pawl_claim.fence);

-- Expired leases, found through the claim rows whose check is due. Counts the attempt, so that a
-- message that kills its worker ends as failed instead of circling for ever.
UPDATE pawl_meta SET latest_time = :now WHERE EXISTS (SELECT 1 FROM pawl_claim WHERE check_at <= :now);

INSERT INTO pawl_outcome (id, state, finished_at, retries, processed_by, error, expires_at)
SELECT q.id, 3, :now, q.retries + 1, c.owner_name, 'the lease ran out at the last attempt', q.expires_at
FROM (SELECT fence, owner_name, ids FROM pawl_claim WHERE check_at <= :now ORDER BY check_at LIMIT :limit) c
CROSS JOIN json_each(c.ids) j
JOIN pawl_queue q ON q.id = j.value AND q.fence = c.fence
JOIN pawl_body b ON b.id = q.id
WHERE q.lease_until <= :now AND q.retries + 1 >= b.max_attempts;

INSERT INTO pawl_tally (lane_id, state, n)
SELECT q.lane_id, 3, count(*)
FROM (SELECT fence, ids FROM pawl_claim WHERE check_at <= :now ORDER BY check_at LIMIT :limit) c
CROSS JOIN json_each(c.ids) j
JOIN pawl_queue q ON q.id = j.value AND q.fence = c.fence
JOIN pawl_body b ON b.id = q.id
WHERE q.lease_until <= :now AND q.retries + 1 >= b.max_attempts
GROUP BY q.lane_id
ON CONFLICT (lane_id, state) DO UPDATE SET n = n + excluded.n;

DELETE FROM pawl_queue
WHERE id IN (SELECT q.id
             FROM (SELECT fence, ids FROM pawl_claim WHERE check_at <= :now ORDER BY check_at LIMIT :limit) c
             CROSS JOIN json_each(c.ids) j
             JOIN pawl_queue q ON q.id = j.value AND q.fence = c.fence
             JOIN pawl_body b ON b.id = q.id
             WHERE q.lease_until <= :now AND q.retries + 1 >= b.max_attempts)
RETURNING 1;

UPDATE pawl_queue
SET retries = retries + 1, owner = zeroblob(16), lease_until = 0, fence = 0, run_at = :now,
    last_error = 'the lease ran out'
WHERE id IN (SELECT q.id
             FROM (SELECT fence, ids FROM pawl_claim WHERE check_at <= :now ORDER BY check_at LIMIT :limit) c
             CROSS JOIN json_each(c.ids) j
             JOIN pawl_queue q ON q.id = j.value AND q.fence = c.fence
             WHERE q.lease_until <= :now)
RETURNING 1;

-- Claims with nothing left go; those with renewed items are looked at again when the first ends.
DELETE FROM pawl_claim
WHERE fence IN (SELECT fence FROM pawl_claim WHERE check_at <= :now ORDER BY check_at LIMIT :limit)
  AND NOT EXISTS (SELECT 1 FROM json_each(pawl_claim.ids) j
                  CROSS JOIN pawl_queue q ON q.id = j.value AND q.fence = pawl_claim.fence);
UPDATE pawl_claim
SET check_at = (SELECT min(q.lease_until) FROM json_each(pawl_claim.ids) j
                CROSS JOIN pawl_queue q ON q.id = j.value AND q.fence = pawl_claim.fence)
WHERE fence IN (SELECT fence FROM pawl_claim WHERE check_at <= :now ORDER BY check_at LIMIT :limit)
  AND EXISTS (SELECT 1 FROM json_each(pawl_claim.ids) j
              CROSS JOIN pawl_queue q ON q.id = j.value AND q.fence = pawl_claim.fence);

-- Not now. At the last attempt the message fails; otherwise it is ready again after :delay, or
-- after min(base * 2^retries, max) + random(0, jitter) of its own or the given policy.
UPDATE pawl_meta SET latest_time = :now;
-- @each
INSERT INTO pawl_outcome (id, state, finished_at, retries, processed_by, error, expires_at)
SELECT q.id, 3, :now, q.retries + 1, c.owner_name, coalesce(:error, q.last_error), q.expires_at
FROM pawl_queue q JOIN pawl_body b ON b.id = q.id LEFT JOIN pawl_claim c ON c.fence = q.fence
WHERE q.id = :id AND q.fence = :fence AND q.owner = :owner AND q.fence <> 0
  AND q.retries + 1 >= b.max_attempts;
-- @each
INSERT INTO pawl_tally (lane_id, state, n)
SELECT q.lane_id, 3, 1
FROM pawl_queue q JOIN pawl_body b ON b.id = q.id
WHERE q.id = :id AND q.fence = :fence AND q.owner = :owner AND q.fence <> 0
  AND q.retries + 1 >= b.max_attempts
ON CONFLICT (lane_id, state) DO UPDATE SET n = n + 1;
-- @each
DELETE FROM pawl_queue
WHERE id = :id AND fence = :fence AND owner = :owner AND fence <> 0
  AND retries + 1 >= (SELECT max_attempts FROM pawl_body WHERE id = :id)
RETURNING 1;
-- @each
UPDATE pawl_queue
SET retries = retries + 1, owner = zeroblob(16), lease_until = 0, fence = 0,
    last_error = coalesce(:error, last_error),
    run_at = :now + coalesce(:delay, (
        SELECT min(coalesce(retry_base, CASE WHEN destination IS NULL THEN :local_base ELSE :remote_base END)
                       * (1 << min(pawl_queue.retries, 30)),
                   coalesce(retry_max, CASE WHEN destination IS NULL THEN :local_max ELSE :remote_max END))
               + abs(random() % (1 + coalesce(retry_jitter, CASE WHEN destination IS NULL
                                                                 THEN :local_jitter ELSE :remote_jitter END)))
        FROM pawl_body WHERE id = pawl_queue.id))
WHERE id = :id AND fence = :fence AND owner = :owner AND fence <> 0
RETURNING 1;

-- Not now. The message is ready again after :delay, or after min(base * 2^(retries + deferrals), max) +
-- random(0, jitter) of its own or the given policy, whatever a row says within the bounds that a policy has; a
-- jitter that is NULL is a tenth of the delay. At the last attempt it fails instead.
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;
-- @each
UPDATE OR FAIL pawl_queue
SET retries = retries + 1, owner = zeroblob(16), lease_until = 0, fence = 0,
    last_error = coalesce(:error, last_error),
    run_at = :now + coalesce(:delay, (
        SELECT delay + abs(random() % (1 + coalesce(max(0, min(@JITTER_MOST@000, jitter)), delay / 10)))
        FROM (SELECT max(0, min(coalesce(retry_base, CASE WHEN destination IS NULL THEN :local_base ELSE :remote_base END)
                                    -- too large for an integer: a real number
                                    * (1 << min(pawl_queue.retries + pawl_queue.deferrals, 30)),
                                coalesce(retry_max, CASE WHEN destination IS NULL THEN :local_max ELSE :remote_max END),
                                @BACKOFF_MOST@000)) AS delay,
                     CASE WHEN retry_base IS NOT NULL THEN retry_jitter
                          WHEN destination IS NULL THEN :local_jitter ELSE :remote_jitter END AS jitter
              FROM pawl_body WHERE id = pawl_queue.id)))
WHERE id = :id AND fence = :fence AND owner = :owner AND fence <> 0;
-- @each
UPDATE OR FAIL pawl_tally SET held = held - 1
WHERE lane_id = (SELECT lane_id FROM pawl_queue WHERE id = :id) AND changes() = 1;
-- @each
SELECT changes();
-- That was the last attempt?
-- @each
INSERT OR FAIL INTO pawl_outcome (id, state, finished_at, retries, processed_by, error, expires_at, progress)
SELECT q.id, 3, :now, q.retries, c.owner_name, q.last_error, q.expires_at, q.progress
FROM pawl_queue q
CROSS JOIN pawl_body b ON b.id = q.id
LEFT JOIN pawl_claim c ON c.fence = :fence
WHERE q.id = :id AND changes() = 1 AND b.max_attempts > 0 AND q.retries >= b.max_attempts;
-- @each
UPDATE OR FAIL pawl_tally SET failed = failed + 1
WHERE lane_id = (SELECT lane_id FROM pawl_queue WHERE id = :id) AND changes() = 1;
-- @each
DELETE FROM pawl_queue WHERE id = :id AND changes() = 1;
-- The dead-letter handler is to be called, if that was asked for.
-- @each
INSERT OR IGNORE INTO pawl_dead (id, run_at)
SELECT b.id, :now FROM pawl_body b
WHERE b.id = :id AND changes() = 1
  AND EXISTS (SELECT 1 FROM pawl_topic t WHERE t.name IN ('', b.topic) AND t.dead);
-- @include run_ready
-- @include claim_ended

-- Not now, and not counted: ready again after :delay, or by the policy as in abandon.sql.
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;
-- @each
UPDATE OR FAIL pawl_queue
SET deferrals = deferrals + 1, owner = zeroblob(16), lease_until = 0, fence = 0,
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
-- @include run_ready
-- @include claim_ended

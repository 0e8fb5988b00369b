-- Ready again at once, the attempt not counted.
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;
-- @each
UPDATE OR FAIL pawl_queue SET owner = zeroblob(16), lease_until = 0, fence = 0, run_at = :now
WHERE id = :id AND fence = :fence AND owner = :owner AND fence <> 0;
-- @each
UPDATE OR FAIL pawl_tally SET held = held - 1
WHERE lane_id = (SELECT lane_id FROM pawl_queue WHERE id = :id) AND changes() = 1;
-- @each
SELECT changes();
-- @include run_ready
-- @include claim_ended

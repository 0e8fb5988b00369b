-- The handler was not successful: it is called again after :delay, or after min(base * 2^(calls - 1), max).
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;
-- @each
UPDATE OR FAIL pawl_dead
SET run_at = :now + coalesce(:delay, min(:base * (1 << min(max(calls - 1, 0), 30)), :max, @BACKOFF_MOST@000)),
    owner = zeroblob(16), fence = 0, error = coalesce(:error, error)
WHERE id = :id AND fence = :fence AND owner = :owner AND fence <> 0;
-- @each
SELECT changes();

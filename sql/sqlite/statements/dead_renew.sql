-- The handler is still at it.
-- @each
UPDATE OR FAIL pawl_dead SET run_at = :now + :lease
WHERE id = :id AND fence = :fence AND owner = :owner AND fence <> 0;
-- @each
SELECT changes();

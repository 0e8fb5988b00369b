-- Ready again at once, the attempt not counted.
-- @each
UPDATE pawl_queue SET owner = zeroblob(16), lease_until = 0, fence = 0, run_at = :now
WHERE id = :id AND fence = :fence AND owner = :owner AND fence <> 0
RETURNING 1;

-- How many messages sent for later nobody holds, and whether counting ended by its bound.
-- @include timer_walk
SELECT coalesce(sum(matches), 0), count(*) = :scan FROM seen;

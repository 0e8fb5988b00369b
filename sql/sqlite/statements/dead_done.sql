-- The handler was successful: it is not called for these again.
-- @each
DELETE FROM pawl_dead WHERE id = :id AND fence = :fence AND owner = :owner AND fence <> 0;
-- @each
SELECT changes();

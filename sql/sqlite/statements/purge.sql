-- Remove finished messages for good.
-- @include expire_id
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;
-- @each
DELETE FROM pawl_outcome WHERE id = :id;
-- @each
DELETE FROM pawl_body WHERE id = :id AND changes() = 1;
-- @each
SELECT changes();
-- @each
DELETE FROM pawl_dead WHERE id = :id AND changes() = 1;

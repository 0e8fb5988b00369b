-- Remove finished messages for good.
-- @each
DELETE FROM pawl_body WHERE id = :id AND EXISTS (SELECT 1 FROM pawl_outcome WHERE id = :id);
-- @each
DELETE FROM pawl_outcome WHERE id = :id RETURNING 1;

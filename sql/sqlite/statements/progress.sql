-- How far it is, in the words of whoever holds it.
-- @each
UPDATE OR FAIL pawl_queue SET progress = :text
WHERE id = :id AND fence = :fence AND owner = :owner AND fence <> 0;
-- @each
SELECT changes();

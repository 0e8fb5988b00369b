-- Columns that the next releases give effect to. This one stores and shows them.
--
-- They have no CHECK: SQLite would read the whole table to verify it, and all other writers would wait. The library
-- checks them before it stores them.
ALTER TABLE pawl_body ADD COLUMN ordering_key TEXT;
ALTER TABLE pawl_body ADD COLUMN unique_key TEXT;
ALTER TABLE pawl_body ADD COLUMN tags TEXT; -- a JSON array of strings; NULL: none
UPDATE pawl_meta SET version = 2;

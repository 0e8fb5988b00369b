-- Columns that the next releases give effect to. This one stores and shows them.
--
-- Without a default that is not NULL and without a CHECK, the table is neither rewritten nor read: the exclusive lock
-- is as short as this transaction. The functions check the values.
SET LOCAL search_path = pg_catalog, pg_temp;
ALTER TABLE pawl.body
    ADD COLUMN ordering_key text,
    ADD COLUMN unique_key   text,
    ADD COLUMN tags         text[]; -- NULL: none
UPDATE pawl.meta SET version = 2;

-- SQLite has one writer, so the totals in pawl_tally are kept up to date by the statements themselves.
SELECT 0 WHERE 0;

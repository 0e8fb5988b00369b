-- SQLite has one writer, so the tally is kept up to date by the statements themselves.
SELECT 0 WHERE 0;

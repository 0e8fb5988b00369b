-- SQLite has no roles: who may open the file may do everything.
SELECT NULL;

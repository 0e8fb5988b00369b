-- The database's clock.
SELECT pawl.now();

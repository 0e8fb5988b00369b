-- Remove finished messages for good.
SELECT pawl.purge(ids => :id);

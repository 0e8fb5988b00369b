-- Forget leases that ended long ago.
SELECT pawl.lease_clean(keep => :keep, max_rows => :limit);

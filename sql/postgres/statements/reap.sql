-- Expired leases: ready again, or failed at the last attempt.
SELECT pawl.reap(max_rows => :limit);

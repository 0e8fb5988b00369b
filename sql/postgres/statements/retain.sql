-- Forget what was done or cancelled longer than :keep ago.
SELECT pawl.retain(keep => :keep, max_rows => :limit);

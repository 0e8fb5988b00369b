-- Forget what was done or cancelled longer than :keep ago, and totals that did not change since then.
SELECT * FROM pawl.retain_batch(keep => :keep, max_rows => :limit);

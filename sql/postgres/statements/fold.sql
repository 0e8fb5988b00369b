-- Move the deltas into the tally.
SELECT pawl.fold(max_rows => :limit);

-- Remove empty lanes and move the deltas into the tally.
SELECT pawl.fold(max_rows => :limit);

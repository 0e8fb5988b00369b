-- Remove empty lanes and move the deltas into the tally.
SELECT * FROM pawl.fold_batch(max_rows => :limit);

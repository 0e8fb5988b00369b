-- Forget what has been kept long enough.
SELECT pawl.inbox_clean(max_rows => :limit);

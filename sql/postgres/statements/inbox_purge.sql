-- Forget dead records.
SELECT pawl.inbox_purge(source => :source, id => :id, max_rows => :limit);

-- Write down that it was seen.
SELECT * FROM pawl.inbox_seen(
    source => :source, id => :id, hash => :hash, max_attempts => :max_attempts, keep => :keep);

-- What is past its time to live.
SELECT pawl.expire(max_rows => :limit);

-- The handler was not successful: it is called again later.
SELECT pawl.dead_retry(
    owner => :owner, ids => :id, fences => :fence, error => :error, delay => :delay, base => :base,
    most => :max);

-- The handler was successful.
SELECT pawl.dead_done(owner => :owner, ids => :id, fences => :fence);

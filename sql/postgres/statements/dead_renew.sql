-- The handler is still at it.
SELECT pawl.dead_renew(owner => :owner, ids => :id, fences => :fence, lease => :lease);

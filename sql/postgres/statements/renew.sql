-- Push the end of the lease.
SELECT pawl.renew(owner => :owner, ids => :id, fences => :fence, lease => :lease);

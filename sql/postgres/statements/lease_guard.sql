-- Whether the lease is held under this token; if so, nobody takes it before the transaction has ended.
SELECT pawl.lease_is_held(name => :name, fence => :fence);

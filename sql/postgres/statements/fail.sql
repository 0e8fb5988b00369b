-- Failed for good.
SELECT pawl.fail(owner => :owner, ids => :id, fences => :fence, error => :error);

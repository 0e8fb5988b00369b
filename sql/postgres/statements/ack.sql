-- Done.
SELECT pawl.ack(owner => :owner, ids => :id, fences => :fence);

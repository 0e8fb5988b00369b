-- Ready again at once, the attempt not counted.
SELECT pawl.release(owner => :owner, ids => :id, fences => :fence);

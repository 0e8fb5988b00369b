-- The attempt was not made: it is given back, and does not count.
SELECT pawl.inbox_release(source => :source, id => :id, fence => :fence);

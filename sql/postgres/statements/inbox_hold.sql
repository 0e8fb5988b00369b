-- Inside the transaction of an atomic attempt: it is still this caller's, and stays so.
SELECT pawl.inbox_hold(source => :source, id => :id, fence => :fence);

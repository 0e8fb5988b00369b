-- Give a lease back.
SELECT * FROM pawl.lease_release(name => :name, owner => :owner, fence => :fence);

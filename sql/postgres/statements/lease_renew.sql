-- Still at it.
SELECT * FROM pawl.lease_renew(name => :name, owner => :owner, fence => :fence, ttl => :ttl);

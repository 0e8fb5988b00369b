-- Take a lease, or extend it.
SELECT * FROM pawl.lease_acquire(name => :name, owner => :owner, ttl => :ttl, owner_name => :owner_name);

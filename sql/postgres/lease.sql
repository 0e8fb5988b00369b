-- sql/postgres/lease.sql - exclusive, expiring ownership of a name.

-- name: lease_acquire
-- Acquire or extend a lease.
SELECT * FROM pawl.lease_acquire(name => :name, owner => :owner, ttl => :ttl, owner_name => :owner_name);

-- name: lease_renew
-- Renew a lease.
SELECT * FROM pawl.lease_renew(name => :name, owner => :owner, fence => :fence, ttl => :ttl);

-- name: lease_release
-- Release a lease.
SELECT * FROM pawl.lease_release(name => :name, owner => :owner, fence => :fence);

-- name: lease_force
-- Take a lease from its holder.
SELECT * FROM pawl.lease_force(name => :name, by => :by, reason => :reason, fence => :fence);

-- name: lease_get
-- One lease by its name.
SELECT * FROM pawl.lease_get(name => :name);

-- name: lease_list
-- Leases by name.
SELECT * FROM pawl.lease_list(after => :after, only_owned => :only_owned, max_rows => :limit);

-- name: lease_guard
-- Whether the lease is held under this token. If so, no other owner can acquire it before this transaction
-- ends.
SELECT pawl.lease_is_held(name => :name, fence => :fence);

-- name: lease_clean
-- Delete leases that ended long ago.
SELECT pawl.lease_clean(keep => :keep, max_rows => :limit);

-- sql/sqlite/lease.sql - exclusive, expiring ownership of a name.

-- name: lease_acquire
-- Acquire or extend a lease. Returns the lease after every step; the last row counts. result: 0 held by another
-- owner, 1 extended (it keeps its token, and is never shortened), 2 acquired.
UPDATE OR FAIL pawl_lease SET renewed_at = :now, expires_at = max(expires_at, :now + :ttl)
WHERE name = :name AND owner = :owner AND released_at IS NULL AND expires_at > :now;

SELECT changes() AS result, :now AS at, l.* FROM pawl_lease l WHERE l.name = :name;

-- @stop-unless-changed
INSERT INTO pawl_lease (name, owner, owner_name, fence, taken_at, renewed_at, expires_at)
SELECT :name, :owner, :owner_name,
-- @include next_fence
       , :now, :now, :now + :ttl
WHERE true
ON CONFLICT (name) DO UPDATE
SET owner = excluded.owner, owner_name = excluded.owner_name, fence = excluded.fence,
    taken_at = excluded.taken_at, renewed_at = excluded.renewed_at, expires_at = excluded.expires_at,
    released_at = NULL
WHERE released_at IS NOT NULL OR expires_at <= :now;

UPDATE pawl_meta
SET fence = (SELECT fence FROM pawl_lease WHERE name = :name),
-- @include fence_mark
    latest_time = :now
WHERE id = 1;

SELECT @LEASE_RESULT_TAKEN@ AS result, :now AS at, l.* FROM pawl_lease l WHERE l.name = :name;

-- name: lease_renew
-- Renew a lease. An expired lease is not renewed, even if no other owner has acquired it.
UPDATE OR FAIL pawl_lease SET renewed_at = :now, expires_at = max(expires_at, :now + :ttl)
WHERE name = :name AND owner = :owner AND fence = :fence AND released_at IS NULL AND expires_at > :now;

SELECT changes() AS result, :now AS at, l.* FROM pawl_lease l WHERE l.name = :name;

-- name: lease_release
-- Release a lease.
UPDATE OR FAIL pawl_lease SET released_at = :now, expires_at = :now
WHERE name = :name AND owner = :owner AND fence = :fence AND released_at IS NULL AND expires_at > :now;

SELECT changes() AS result, :now AS at, l.* FROM pawl_lease l WHERE l.name = :name;

-- name: lease_force
-- Take a lease from its holder, and record the operator and the reason.
UPDATE OR FAIL pawl_lease
SET released_at = :now, expires_at = :now, forced_at = :now, forced_by = :by, forced_reason = :reason,
    forced_fence = fence
WHERE name = :name AND (:fence IS NULL OR fence = :fence) AND released_at IS NULL AND expires_at > :now;

SELECT changes() AS result, :now AS at, l.* FROM pawl_lease l WHERE l.name = :name;

-- name: lease_get
-- One lease by its name.
SELECT 1 AS result, :now AS at, l.* FROM pawl_lease l WHERE l.name = :name;

-- name: lease_list
-- Leases by name.
SELECT 1 AS result, :now AS at, l.* FROM pawl_lease l
WHERE l.name > :after AND (NOT :only_owned OR (l.released_at IS NULL AND l.expires_at > :now))
ORDER BY l.name LIMIT :limit;

-- name: lease_guard
-- Whether the lease is held under this token. The write comes first: it takes the write lock, so that no other
-- owner can acquire the lease before this transaction ends.
UPDATE pawl_meta SET latest_time = max(latest_time, :now) WHERE id = 1;

SELECT EXISTS (SELECT 1 FROM pawl_lease
               WHERE name = :name AND fence = :fence AND released_at IS NULL AND expires_at > :now);

-- name: lease_clean
-- Delete leases that ended longer than :keep ago. Tokens come from pawl_meta, so none is reused. The time is
-- stored: after the clock steps back, it must not show a time before the end of a deleted lease.
DELETE FROM pawl_lease
WHERE name IN (SELECT name FROM pawl_lease INDEXED BY pawl_lease_end
               WHERE expires_at <= :now - :keep ORDER BY expires_at LIMIT :limit);

SELECT changes();

UPDATE pawl_meta SET latest_time = max(latest_time, :now) WHERE id = 1 AND changes() > 0;

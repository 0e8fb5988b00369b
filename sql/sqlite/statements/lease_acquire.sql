-- Take a lease, or extend it. Answers what is there after every step; the last answer counts. result: 0
-- held by somebody else, 1 extended (it keeps its token, and is never shortened), 2 taken.
UPDATE OR FAIL pawl_lease SET renewed_at = :now, expires_at = max(expires_at, :now + :ttl)
WHERE name = :name AND owner = :owner AND released_at IS NULL AND expires_at > :now;

SELECT changes(), :now, l.* FROM pawl_lease l WHERE l.name = :name;

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

SELECT 2, :now, l.* FROM pawl_lease l WHERE l.name = :name;

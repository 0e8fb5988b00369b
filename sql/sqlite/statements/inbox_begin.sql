-- A delivery. Answers once or twice, and the first row counts: the answer (0 new, 1 duplicate,
-- 2 in progress, 3 conflict, 4 dead, 5 suspect: only :alone), attempt, fence, idempotency key,
-- microseconds until it is worth asking again, cached response, last error.
--
-- An attempt that did not end makes its message a suspect. The first one does not count, since it was
-- made beside others; all later ones are made alone, and count.

-- The last attempt was the last.
UPDATE pawl_inbox_record INDEXED BY pawl_inbox_key
SET state = 3, lease_until = 0, expires_at = NULL, last_seen = :now,
    error = coalesce(error, 'the last attempt did not end')
WHERE source = :source AND id = :id AND (hash <> :hash) IS NOT TRUE
  AND attempts - (suspect OR (state = 1 AND (holder = :holder) IS NOT TRUE)) >= :max_attempts
  AND (state = 0 OR (state = 1 AND (lease_until <= :now OR holder = :holder)));

UPDATE pawl_meta
SET fence =
-- @include next_fence
       ,
-- @include fence_mark
    latest_time = :now
WHERE id = 1
  AND NOT EXISTS (SELECT 1 FROM pawl_inbox_record r INDEXED BY pawl_inbox_key
                  WHERE r.source = :source AND r.id = :id
                    AND (r.hash <> :hash OR r.state > 1
                         OR (r.state = 1 AND r.lease_until > :now AND (r.holder = :holder) IS NOT TRUE)
                         OR (NOT :alone AND (r.suspect OR (r.state = 1 AND (r.holder = :holder) IS NOT TRUE)))));

-- It is this caller's now, if a token was drawn.
INSERT INTO pawl_inbox_record AS r
    (fence, source, id, state, attempts, max_attempts, lease_until, holder, first_seen, last_seen,
     expires_at, hash, endpoint)
SELECT (SELECT fence FROM pawl_meta WHERE id = 1),
       :source, :id, 1, 1, :max_attempts, :now + :lease, :holder, :now, :now, :now + :keep, :hash, :endpoint
WHERE changes() = 1
ON CONFLICT (source, id) DO UPDATE
SET fence = excluded.fence, state = 1, attempts = r.attempts + 1, max_attempts = excluded.max_attempts,
    suspect = r.suspect OR (r.state = 1 AND (r.holder = excluded.holder) IS NOT TRUE),
    lease_until = excluded.lease_until, holder = excluded.holder, last_seen = excluded.last_seen,
    expires_at = excluded.expires_at, hash = coalesce(r.hash, excluded.hash),
    endpoint = coalesce(excluded.endpoint, r.endpoint)
RETURNING 0, attempts, fence, replace(replace(source, '%', '%25'), ':', '%3A') || ':' || id, 0, NULL, error;

UPDATE pawl_inbox_record INDEXED BY pawl_inbox_key
SET last_seen = :now, duplicates = duplicates + (state = 2)
WHERE source = :source AND id = :id AND (hash <> :hash) IS NOT TRUE AND state >= 2;

SELECT CASE WHEN hash <> :hash THEN 3 WHEN state = 2 THEN 1 WHEN state = 3 THEN 4
            WHEN state = 1 AND lease_until > :now THEN 2 ELSE 5 END, attempts,
       fence, replace(replace(source, '%', '%25'), ':', '%3A') || ':' || id,
       CASE WHEN state < 2 THEN max(lease_until - :now, 1000) ELSE 0 END,
       CASE WHEN state = 2 AND (hash <> :hash) IS NOT TRUE THEN response END, error
FROM pawl_inbox_record INDEXED BY pawl_inbox_key
WHERE source = :source AND id = :id;

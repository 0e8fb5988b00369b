-- sql/sqlite/inbox.sql - messages received from other services, processed once.

-- part: inbox_list_end
-- The records of `seen`, without responses; whether each matches (the last scanned row is always returned, so
-- that the next page can start there) and whether the scan ended at its limit.
matching AS (
    SELECT r.*, ((1 << r.state) & :states) <> 0 AND (:source IS NULL OR r.source = :source) AS matches
    FROM seen CROSS JOIN pawl_inbox_record r ON r.number = seen.number)
-- @include inbox_columns lease_until='nullif(lease_until, 0)' response=NULL
       , matches AS matches, (SELECT count(*) FROM seen) = :scan AS bounded
FROM matching
WHERE matches OR number = (SELECT min(number) FROM seen)
LIMIT :limit;

-- name: inbox_begin
-- Begin to process a delivery. Returns one or two rows, and the first one counts: the result (0 new, 1
-- duplicate, 2 in progress, 3 conflict, 4 dead, 5 suspect: only :alone), attempt, fence, idempotency key,
-- microseconds to wait before asking again, cached response, last error.
--
-- An attempt that did not end makes its message a suspect. The first such attempt does not count, since it ran
-- beside others; all later ones run alone, and count.

-- The attempts are used up.
UPDATE pawl_inbox_record INDEXED BY pawl_inbox_key
SET state = @INBOX_DEAD@, lease_until = 0, expires_at = NULL, last_seen = :now,
    error = coalesce(error, 'the last attempt did not end')
WHERE source = :source AND id = :id AND (hash <> :hash) IS NOT TRUE
  AND attempts - (suspect OR (state = @INBOX_PROCESSING@ AND (holder = :holder) IS NOT TRUE)) >= :max_attempts
  AND (state = @INBOX_SEEN@ OR (state = @INBOX_PROCESSING@ AND (lease_until <= :now OR holder = :holder)));

-- @include draw_fence
  AND NOT EXISTS (SELECT 1 FROM pawl_inbox_record r INDEXED BY pawl_inbox_key
                  WHERE r.source = :source AND r.id = :id
                    AND (r.hash <> :hash OR r.state > @INBOX_PROCESSING@
                         OR (r.state = @INBOX_PROCESSING@ AND r.lease_until > :now AND (r.holder = :holder) IS NOT TRUE)
                         OR (NOT :alone AND (r.suspect OR (r.state = @INBOX_PROCESSING@ AND (r.holder = :holder) IS NOT TRUE)))));

-- The caller owns the attempt if a token was drawn.
INSERT INTO pawl_inbox_record AS r
    (fence, source, id, state, attempts, max_attempts, lease_until, holder, first_seen, last_seen,
     expires_at, hash, endpoint)
SELECT (SELECT fence FROM pawl_meta WHERE id = 1),
       :source, :id, @INBOX_PROCESSING@, 1, :max_attempts, :now + :lease, :holder, :now, :now, :now + :keep, :hash, :endpoint
WHERE changes() = 1
ON CONFLICT (source, id) DO UPDATE
SET fence = excluded.fence, state = @INBOX_PROCESSING@, attempts = r.attempts + 1, max_attempts = excluded.max_attempts,
    suspect = r.suspect OR (r.state = @INBOX_PROCESSING@ AND (r.holder = excluded.holder) IS NOT TRUE),
    lease_until = excluded.lease_until, holder = excluded.holder, last_seen = excluded.last_seen,
    expires_at = excluded.expires_at, hash = coalesce(r.hash, excluded.hash),
    endpoint = coalesce(excluded.endpoint, r.endpoint)
RETURNING @INBOX_RESULT_NEW@, attempts, fence, replace(replace(source, '%', '%25'), ':', '%3A') || ':' || id, 0, NULL, error;

UPDATE pawl_inbox_record INDEXED BY pawl_inbox_key
SET last_seen = :now, duplicates = duplicates + (state = @INBOX_DONE@)
WHERE source = :source AND id = :id AND (hash <> :hash) IS NOT TRUE AND state >= @INBOX_DONE@;

SELECT CASE WHEN hash <> :hash THEN @INBOX_RESULT_CONFLICT@ WHEN state = @INBOX_DONE@ THEN @INBOX_RESULT_DUPLICATE@
            WHEN state = @INBOX_DEAD@ THEN @INBOX_RESULT_DEAD@
            WHEN state = @INBOX_PROCESSING@ AND lease_until > :now THEN @INBOX_RESULT_IN_PROGRESS@ ELSE @INBOX_RESULT_SUSPECT@ END, attempts,
       fence, replace(replace(source, '%', '%25'), ':', '%3A') || ':' || id,
       CASE WHEN state < @INBOX_DONE@ THEN max(lease_until - :now, 1000) ELSE 0 END,
       CASE WHEN state = @INBOX_DONE@ AND (hash <> :hash) IS NOT TRUE THEN response END, error
FROM pawl_inbox_record INDEXED BY pawl_inbox_key
WHERE source = :source AND id = :id;

-- name: inbox_lease
-- Within the transaction of an atomic attempt: whether the caller still owns the attempt. No other connection
-- can write until the transaction ends.
SELECT EXISTS (SELECT 1 FROM pawl_inbox_record INDEXED BY pawl_inbox_key
               WHERE source = :source AND id = :id AND state = @INBOX_PROCESSING@ AND fence = :fence);

-- name: inbox_done
-- Mark the message as done: with the attempt's fence, or without a fence regardless of the holder.
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;

UPDATE pawl_inbox_record INDEXED BY pawl_inbox_key
SET state = @INBOX_DONE@, lease_until = 0, processed_at = :now, last_seen = :now, expires_at = :now + :keep,
    error = NULL, response = :response
WHERE source = :source AND id = :id AND state < @INBOX_DONE@
  AND (:fence IS NULL OR (state = @INBOX_PROCESSING@ AND fence = :fence));

SELECT changes();

-- name: inbox_fail
-- Record a failed attempt. Another may follow at once, unless it was the last or :dead is set. A suspect has
-- one attempt that does not count (inbox_begin).
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;

UPDATE pawl_inbox_record INDEXED BY pawl_inbox_key
SET state = CASE WHEN :dead OR attempts - suspect >= max_attempts THEN @INBOX_DEAD@ ELSE @INBOX_SEEN@ END,
    lease_until = 0,
    error = coalesce(:error, error),
    expires_at = CASE WHEN :dead OR attempts - suspect >= max_attempts THEN NULL ELSE :now + :keep END
WHERE source = :source AND id = :id AND state < @INBOX_DONE@
  AND (:fence IS NULL OR (state = @INBOX_PROCESSING@ AND fence = :fence));

SELECT changes();

-- name: inbox_release
-- Give back an attempt that was not made; it does not count.
UPDATE pawl_inbox_record INDEXED BY pawl_inbox_key
SET state = @INBOX_SEEN@, attempts = attempts - 1, lease_until = 0
WHERE source = :source AND id = :id AND state = @INBOX_PROCESSING@ AND fence = :fence;

SELECT changes();

-- name: inbox_renew
-- Extend the attempt's lease to :lease from now.
UPDATE pawl_inbox_record INDEXED BY pawl_inbox_key
SET lease_until = :now + :lease, expires_at = max(expires_at, :now + :lease)
WHERE source = :source AND id = :id AND state = @INBOX_PROCESSING@ AND fence = :fence;

SELECT changes();

-- name: inbox_seen
-- Record that the message was seen. Returns its state, and whether the key exists with other content, in which
-- case nothing was written.
INSERT INTO pawl_inbox_record AS r (source, id, state, max_attempts, first_seen, last_seen, expires_at, hash)
VALUES (:source, :id, @INBOX_SEEN@, :max_attempts, :now, :now, :now + :keep, :hash)
ON CONFLICT (source, id) DO UPDATE
SET last_seen = excluded.last_seen, hash = coalesce(r.hash, excluded.hash),
    duplicates = r.duplicates + (r.state = @INBOX_DONE@),
    expires_at = CASE WHEN r.state = @INBOX_SEEN@ THEN excluded.expires_at ELSE r.expires_at END
WHERE (r.hash <> excluded.hash) IS NOT TRUE;

SELECT state, (hash <> :hash) IS TRUE FROM pawl_inbox_record INDEXED BY pawl_inbox_key
WHERE source = :source AND id = :id;

-- name: inbox_get
-- One record by its key.
-- @include inbox_columns lease_until='nullif(lease_until, 0)'
FROM pawl_inbox_record INDEXED BY pawl_inbox_key
WHERE source = :source AND id = :id;

-- name: inbox_list_any
-- All records, newest first. Scans at most :scan rows, like the next two.
WITH seen AS MATERIALIZED (
    SELECT number FROM pawl_inbox_record
    WHERE number < :before
    ORDER BY number DESC LIMIT :scan),
-- @include inbox_list_end

-- name: inbox_list_unfinished
-- Records that are not finished, newest first.
WITH seen AS MATERIALIZED (
    SELECT number FROM pawl_inbox_record INDEXED BY pawl_inbox_unfinished
    WHERE number < :before AND state < @INBOX_DONE@
    ORDER BY number DESC LIMIT :scan),
-- @include inbox_list_end

-- name: inbox_list_dead
-- Dead records, newest first.
WITH seen AS MATERIALIZED (
    SELECT number FROM pawl_inbox_record INDEXED BY pawl_inbox_dead
    WHERE number < :before AND state = @INBOX_DEAD@
    ORDER BY number DESC LIMIT :scan),
-- @include inbox_list_end

-- name: inbox_retry
-- Give dead records all their attempts again, for the next delivery.
UPDATE pawl_inbox_record
SET state = @INBOX_SEEN@, attempts = 0, suspect = 0, lease_until = 0, expires_at = :now + :keep
WHERE number IN (SELECT number FROM pawl_inbox_record INDEXED BY pawl_inbox_dead
                 WHERE state = @INBOX_DEAD@ AND (:source IS NULL OR source = :source) AND (:id IS NULL OR id = :id)
                 ORDER BY number LIMIT :limit);

SELECT changes();

-- name: inbox_purge
-- Delete dead records.
DELETE FROM pawl_inbox_record
WHERE number IN (SELECT number FROM pawl_inbox_record INDEXED BY pawl_inbox_dead
                 WHERE state = @INBOX_DEAD@ AND (:source IS NULL OR source = :source) AND (:id IS NULL OR id = :id)
                 ORDER BY number LIMIT :limit);

SELECT changes();

-- name: inbox_clean
-- Delete records past their retention time, except those with a running attempt.
DELETE FROM pawl_inbox_record
WHERE number IN (SELECT number FROM pawl_inbox_record INDEXED BY pawl_inbox_expiry
                 WHERE expires_at <= :now AND (state <> @INBOX_PROCESSING@ OR lease_until <= :now)
                 ORDER BY expires_at LIMIT :limit);

SELECT changes();

-- name: inbox_stats
-- Record counts: seen, processing, processing with an expired lease, done and dead, each counted up to :cap.
SELECT (SELECT count(*) FROM (SELECT 1 FROM pawl_inbox_record INDEXED BY pawl_inbox_unfinished
                              WHERE state < @INBOX_DONE@ AND state = @INBOX_SEEN@ LIMIT :cap)),
       (SELECT count(*) FROM (SELECT 1 FROM pawl_inbox_record INDEXED BY pawl_inbox_unfinished
                              WHERE state < @INBOX_DONE@ AND state = @INBOX_PROCESSING@ LIMIT :cap)),
       (SELECT count(*) FROM (SELECT 1 FROM pawl_inbox_record INDEXED BY pawl_inbox_unfinished
                              WHERE state < @INBOX_DONE@ AND state = @INBOX_PROCESSING@ AND lease_until <= :now LIMIT :cap)),
       (SELECT count(*) FROM (SELECT 1 FROM pawl_inbox_record INDEXED BY pawl_inbox_expiry
                              WHERE expires_at IS NOT NULL AND state = @INBOX_DONE@ LIMIT :cap)),
       (SELECT count(*) FROM (SELECT 1 FROM pawl_inbox_record INDEXED BY pawl_inbox_dead
                              WHERE state = @INBOX_DEAD@ LIMIT :cap));

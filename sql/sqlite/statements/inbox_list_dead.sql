-- Dead records, newest first. Looks at :scan rows at most. Answers the columns of inbox_get, whether it
-- matches (the last row looked at is always answered, so that the next page can start there) and
-- whether the scan ended by its bound.
WITH seen AS MATERIALIZED (
    SELECT number FROM pawl_inbox_record INDEXED BY pawl_inbox_dead
    WHERE number < :before AND state = 3
    ORDER BY number DESC LIMIT :scan),
matching AS (
    SELECT r.*, ((1 << r.state) & :states) <> 0 AND (:source IS NULL OR r.source = :source) AS matches
    FROM seen CROSS JOIN pawl_inbox_record r ON r.number = seen.number)
SELECT number, source, id, state, attempts, max_attempts, suspect, duplicates, fence, nullif(lease_until, 0),
       first_seen, last_seen, processed_at, expires_at, hash, endpoint, error, NULL, matches,
       (SELECT count(*) FROM seen) = :scan
FROM matching
WHERE matches OR number = (SELECT min(number) FROM seen)
LIMIT :limit;

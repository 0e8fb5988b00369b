-- One record by its key: number, source, id, state, attempts, max_attempts, suspect, duplicates, fence,
-- lease_until, first_seen, last_seen, processed_at, expires_at, hash, endpoint, error, response.
SELECT number, source, id, state, attempts, max_attempts, suspect, duplicates, fence, nullif(lease_until, 0),
       first_seen, last_seen, processed_at, expires_at, hash, endpoint, error, response
FROM pawl_inbox_record INDEXED BY pawl_inbox_key
WHERE source = :source AND id = :id;

-- One record by its key.
SELECT number, source, id, state, attempts, max_attempts, suspect, duplicates, fence, nullif(lease_until, 'epoch'),
       first_seen, last_seen, processed_at, expires_at, hash, endpoint, error, response
FROM pawl.inbox_get(source => :source, id => :id);

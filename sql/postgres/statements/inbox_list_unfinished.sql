-- Records that are not finished, newest first.
SELECT number, source, id, state, attempts, max_attempts, suspect, duplicates, fence, nullif(lease_until, 'epoch'),
       first_seen, last_seen, processed_at, expires_at, hash, endpoint, error, response, matches, bounded
FROM pawl.inbox_list(
    states => :states, source => :source, before => :before, max_rows => :limit, scan => :scan,
    kind => 1);

-- sql/postgres/inbox.sql - deliveries from other services, processed once.

-- part: inbox_columns
SELECT number, source, id, state, attempts, max_attempts, suspect, duplicates, fence, nullif(lease_until, 'epoch'),
       first_seen, last_seen, processed_at, expires_at, hash, endpoint, error, response

-- part: inbox_list
-- @include inbox_columns
       , matches, bounded
FROM pawl.inbox_list(
    states => :states, source => :source, before => :before, max_rows => :limit, scan => :scan,
    kind => @kind@);

-- name: inbox_begin
-- A delivery: see the function. Its answer as a number, the time to wait in microseconds.
-- It runs under the caller's search_path: nothing in it may be a name that public could have a better match for.
SELECT CASE b.answer WHEN 'new' THEN @INBOX_RESULT_NEW@ WHEN 'duplicate' THEN @INBOX_RESULT_DUPLICATE@
                     WHEN 'in_progress' THEN @INBOX_RESULT_IN_PROGRESS@ WHEN 'conflict' THEN @INBOX_RESULT_CONFLICT@
                     WHEN 'dead' THEN @INBOX_RESULT_DEAD@ WHEN 'suspect' THEN @INBOX_RESULT_SUSPECT@ END,
       b.attempt, b.fence, b.idempotency_key,
       (extract(epoch FROM b.retry_after) OPERATOR(pg_catalog.*) 1000000::numeric)::bigint,
       b.response, b.error
FROM pawl.inbox_begin(
    source => :source, id => :id, hash => :hash, lease => :lease, max_attempts => :max_attempts,
    keep => :keep, endpoint => :endpoint, alone => :alone, holder => :holder) b;

-- name: inbox_lease
-- Inside the transaction of an atomic attempt: it is still this caller's, and stays so.
SELECT pawl.inbox_lease(source => :source, id => :id, fence => :fence);

-- name: inbox_done
-- Done, once: under the fence of the attempt, or (no fence) whoever is at it.
SELECT pawl.inbox_finish(
    source => :source, id => :id, fence => :fence, response => :response, keep => :keep);

-- name: inbox_fail
-- The attempt failed.
SELECT pawl.inbox_give_up(
    source => :source, id => :id, fence => :fence, error => :error, dead => :dead, keep => :keep);

-- name: inbox_release
-- The attempt was not made: it is given back, and does not count.
SELECT pawl.inbox_release(source => :source, id => :id, fence => :fence);

-- name: inbox_renew
-- Still at it.
SELECT pawl.inbox_renew(source => :source, id => :id, fence => :fence, lease => :lease);

-- name: inbox_seen
-- Write down that it was seen.
SELECT * FROM pawl.inbox_seen(
    source => :source, id => :id, hash => :hash, max_attempts => :max_attempts, keep => :keep);

-- name: inbox_get
-- One record by its key.
-- @include inbox_columns
FROM pawl.inbox_get(source => :source, id => :id);

-- name: inbox_list_any
-- All records, newest first.
-- @include inbox_list kind=@INBOX_LIST_ALL@

-- name: inbox_list_unfinished
-- Records that are not finished, newest first.
-- @include inbox_list kind=@INBOX_LIST_UNFINISHED@

-- name: inbox_list_dead
-- Dead records, newest first.
-- @include inbox_list kind=@INBOX_LIST_DEAD@

-- name: inbox_retry
-- Dead records get all their attempts again.
SELECT pawl.inbox_retry(source => :source, id => :id, keep => :keep, max_rows => :limit);

-- name: inbox_purge
-- Forget dead records.
SELECT pawl.inbox_purge(source => :source, id => :id, max_rows => :limit);

-- name: inbox_clean
-- Forget what has been kept long enough.
SELECT pawl.inbox_clean(max_rows => :limit);

-- name: inbox_stats
-- How many are in which state.
SELECT * FROM pawl.inbox_stats(cap => :cap);

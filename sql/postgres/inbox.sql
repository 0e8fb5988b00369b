-- sql/postgres/inbox.sql - messages received from other services, processed once.

-- part: inbox_list
-- @include inbox_columns lease_until="nullif(lease_until, 'epoch')"
       , matches, bounded
FROM pawl.inbox_list(
    states => :states, source => :source, before => :before, max_rows => :limit, scan => :scan,
    kind => @kind@);

-- name: inbox_begin
-- Begin to process a delivery (see the function). Returns the result as a number and the wait in microseconds.
-- The statement runs under the caller's search_path, so it must not use a name for which public could have a
-- better match.
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
-- Within the transaction of an atomic attempt: whether the caller still owns the attempt. It then stays the
-- owner until the transaction ends.
SELECT pawl.inbox_lease(source => :source, id => :id, fence => :fence);

-- name: inbox_done
-- Mark the message as done: with the attempt's fence, or without a fence regardless of the holder.
SELECT pawl.inbox_finish(
    source => :source, id => :id, fence => :fence, response => :response, keep => :keep);

-- name: inbox_fail
-- Record a failed attempt.
SELECT pawl.inbox_give_up(
    source => :source, id => :id, fence => :fence, error => :error, dead => :dead, keep => :keep);

-- name: inbox_release
-- Give back an attempt that was not made; it does not count.
SELECT pawl.inbox_release(source => :source, id => :id, fence => :fence);

-- name: inbox_renew
-- Extend the lease of an attempt.
SELECT pawl.inbox_renew(source => :source, id => :id, fence => :fence, lease => :lease);

-- name: inbox_seen
-- Record that the message was seen.
SELECT * FROM pawl.inbox_seen(
    source => :source, id => :id, hash => :hash, max_attempts => :max_attempts, keep => :keep);

-- name: inbox_get
-- One record by its key.
-- @include inbox_columns lease_until="nullif(lease_until, 'epoch')"
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
-- Give dead records all their attempts again.
SELECT pawl.inbox_retry(source => :source, id => :id, keep => :keep, max_rows => :limit);

-- name: inbox_purge
-- Delete dead records.
SELECT pawl.inbox_purge(source => :source, id => :id, max_rows => :limit);

-- name: inbox_clean
-- Delete records that are past their retention time.
SELECT pawl.inbox_clean(max_rows => :limit);

-- name: inbox_stats
-- Record counts per state.
SELECT * FROM pawl.inbox_stats(cap => :cap);

-- A delivery: see the function. Its answer as a number, the time to wait in microseconds.
-- It runs under the caller's search_path: nothing in it may be a name that public could have a better match for.
SELECT CASE b.answer WHEN 'new' THEN 0 WHEN 'duplicate' THEN 1 WHEN 'in_progress' THEN 2 WHEN 'conflict' THEN 3
                     WHEN 'dead' THEN 4 WHEN 'suspect' THEN 5 END,
       b.attempt, b.fence, b.idempotency_key,
       (extract(epoch FROM b.retry_after) OPERATOR(pg_catalog.*) 1000000::numeric)::bigint,
       b.response, b.error
FROM pawl.inbox_begin(
    source => :source, id => :id, hash => :hash, lease => :lease, max_attempts => :max_attempts,
    keep => :keep, endpoint => :endpoint, alone => :alone, holder => :holder) b;

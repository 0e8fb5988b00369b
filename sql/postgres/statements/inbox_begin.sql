-- A delivery: see the function. Its answer as a number, the time to wait in microseconds.
SELECT array_position(ARRAY['new', 'duplicate', 'in_progress', 'conflict', 'dead'], b.answer) - 1,
       b.attempt, b.fence, b.idempotency_key, (extract(epoch FROM b.retry_after) * 1000000)::bigint,
       b.response, b.error
FROM pawl.inbox_begin(
    source => :source, id => :id, hash => :hash, lease => :lease, max_attempts => :max_attempts,
    keep => :keep, endpoint => :endpoint) b;

-- Whether the lease is held under this token. The write comes first: it takes the write lock, so that nobody
-- takes the lease before the transaction has ended.
UPDATE pawl_meta SET latest_time = max(latest_time, :now) WHERE id = 1;

SELECT EXISTS (SELECT 1 FROM pawl_lease
               WHERE name = :name AND fence = :fence AND released_at IS NULL AND expires_at > :now);

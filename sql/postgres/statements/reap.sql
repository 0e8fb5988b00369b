-- Expired leases: ready again, or failed at the last attempt.
SELECT * FROM pawl.reap_batch(max_rows => :limit, cursor_since => :cursor_since);

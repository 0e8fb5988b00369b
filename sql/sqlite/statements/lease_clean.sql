-- Forget leases that ended longer than :keep ago. Tokens come from pawl_meta: none comes again. The time is
-- written down: a clock that steps back must not come to before the end of what was forgotten.
DELETE FROM pawl_lease
WHERE name IN (SELECT name FROM pawl_lease INDEXED BY pawl_lease_end
               WHERE expires_at <= :now - :keep ORDER BY expires_at LIMIT :limit);

SELECT changes();

UPDATE pawl_meta SET latest_time = max(latest_time, :now) WHERE id = 1 AND changes() > 0;

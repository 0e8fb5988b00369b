-- Forget leases that ended longer than :keep ago. Tokens come from pawl_meta: none comes again.
DELETE FROM pawl_lease
WHERE name IN (SELECT name FROM pawl_lease INDEXED BY pawl_lease_end
               WHERE expires_at <= :now - :keep ORDER BY expires_at LIMIT :limit);

SELECT changes();

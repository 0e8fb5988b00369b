-- The attempt was not made: it is given back, and does not count.
UPDATE pawl_inbox_record INDEXED BY pawl_inbox_key
SET state = 0, attempts = attempts - 1, lease_until = 0
WHERE source = :source AND id = :id AND state = 1 AND fence = :fence;

SELECT changes();

-- Inside the transaction of an atomic attempt: it is still this caller's. Nobody else writes until it
-- ends.
SELECT EXISTS (SELECT 1 FROM pawl_inbox_record INDEXED BY pawl_inbox_key
               WHERE source = :source AND id = :id AND state = 1 AND fence = :fence);

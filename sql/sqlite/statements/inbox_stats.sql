-- How many are seen, processing, processing past their lease, done and dead; each counted up to :cap.
SELECT (SELECT count(*) FROM (SELECT 1 FROM pawl_inbox_record INDEXED BY pawl_inbox_unfinished
                              WHERE state < 2 AND state = 0 LIMIT :cap)),
       (SELECT count(*) FROM (SELECT 1 FROM pawl_inbox_record INDEXED BY pawl_inbox_unfinished
                              WHERE state < 2 AND state = 1 LIMIT :cap)),
       (SELECT count(*) FROM (SELECT 1 FROM pawl_inbox_record INDEXED BY pawl_inbox_unfinished
                              WHERE state < 2 AND state = 1 AND lease_until <= :now LIMIT :cap)),
       (SELECT count(*) FROM (SELECT 1 FROM pawl_inbox_record INDEXED BY pawl_inbox_expiry
                              WHERE expires_at IS NOT NULL AND state = 2 LIMIT :cap)),
       (SELECT count(*) FROM (SELECT 1 FROM pawl_inbox_record INDEXED BY pawl_inbox_dead
                              WHERE state = 3 LIMIT :cap));

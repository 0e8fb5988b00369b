-- The schema of the oldest temporary store that is older than :us microseconds and may be removed.
SELECT n.nspname
  FROM pg_catalog.pg_namespace n
  JOIN pg_catalog.pg_description d
    ON d.objoid = n.oid AND d.classoid = 'pg_catalog.pg_namespace'::regclass AND d.objsubid = 0,
       substring(d.description FROM '^temporary store of a test, made at ([0-9]{1,18})$') AS made_at
 WHERE n.nspname ~ '^pawl_test_[0-9a-f_]+$'
   AND pg_catalog.pg_has_role(n.nspowner, 'USAGE')
   AND made_at::bigint < (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - :us
 ORDER BY made_at::bigint
 LIMIT 1;

-- What the schema consists of, its rows left out: "OID MD5", the newest relation's oid and a digest of
-- everything that a test may have changed. A catalog row that was changed has another xmin.
SELECT max(CASE WHEN kind = 'class' THEN id END) || ' ' ||
       md5(string_agg(concat_ws(' ', kind, id, part, what), E'\n' ORDER BY kind, id, part, what))
  FROM (SELECT 'class' AS kind, c.oid::bigint AS id, 0 AS part,
               concat_ws(' ', c.relname, c.relkind, c.relpersistence, c.relowner, c.relacl,
                         c.reloptions, c.relrowsecurity,
                         c.relkind = 'r' AND pg_relation_size(c.oid) > 0) AS what -- rows it comes with
          FROM pg_class c WHERE c.relnamespace = 'pawl'::regnamespace
        UNION ALL
        SELECT 'attribute', a.attrelid, a.attnum, a.xmin::text
          FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
         WHERE c.relnamespace = 'pawl'::regnamespace
        UNION ALL
        SELECT 'default', d.adrelid, d.adnum, d.xmin::text
          FROM pg_attrdef d JOIN pg_class c ON c.oid = d.adrelid
         WHERE c.relnamespace = 'pawl'::regnamespace
        UNION ALL
        SELECT 'index', i.indexrelid, 0, i.xmin::text
          FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
         WHERE c.relnamespace = 'pawl'::regnamespace
        UNION ALL
        SELECT 'rule', r.oid, 0, r.xmin::text
          FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class
         WHERE c.relnamespace = 'pawl'::regnamespace
        UNION ALL
        SELECT 'trigger', t.oid, 0, t.xmin::text
          FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
         WHERE c.relnamespace = 'pawl'::regnamespace
        UNION ALL
        SELECT 'statistics', s.starelid, s.staattnum, '' -- a plan may depend on them
          FROM pg_statistic s JOIN pg_class c ON c.oid = s.starelid
         WHERE c.relnamespace = 'pawl'::regnamespace
        UNION ALL
        SELECT 'sequence', q.seqrelid, 0, q.xmin::text
          FROM pg_sequence q JOIN pg_class c ON c.oid = q.seqrelid
         WHERE c.relnamespace = 'pawl'::regnamespace
        UNION ALL
        SELECT 'constraint', oid, 0, xmin::text FROM pg_constraint
         WHERE connamespace = 'pawl'::regnamespace
        UNION ALL
        SELECT 'function', oid, 0, xmin::text FROM pg_proc WHERE pronamespace = 'pawl'::regnamespace
        UNION ALL
        SELECT 'type', oid, 0, xmin::text FROM pg_type WHERE typnamespace = 'pawl'::regnamespace
        UNION ALL
        SELECT 'namespace', oid, 0, xmin::text FROM pg_namespace WHERE nspname = 'pawl'
        UNION ALL
        SELECT 'meta', 0, 0, concat_ws(' ', ctid, xmin) FROM pawl.meta) AS everything;

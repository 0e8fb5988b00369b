-- The schema of a temporary store, with a note by which it is found again if nobody removes it.
DO $$
BEGIN
    CREATE SCHEMA pawl;
    EXECUTE format('COMMENT ON SCHEMA %s IS %L', split_part('pawl.x', '.', 1),
                   'temporary store of a test, made at '
                   || (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
END
$$;

-- Create the schema of a temporary store, with a comment by which a leftover schema is found and removed later.
DO $$
BEGIN
    CREATE SCHEMA pawl;
    EXECUTE format('COMMENT ON SCHEMA %s IS %L', split_part('pawl.x', '.', 1),
                   'temporary store of a test, made at '
                   || (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
END
$$;

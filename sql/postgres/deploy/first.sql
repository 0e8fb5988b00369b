-- What every deployment runs after the migrations that are missing and before views/, functions/ and triggers/.
-- docs/internals/migrations.md

-- Views, and the bodies of functions in SQL, keep the operators that were found when they were made: none of
-- public's.
SET LOCAL search_path = pg_catalog, pg_temp;

-- The type of what functions return. A view can be replaced by one that has more columns at its end. Where they
-- come in between, the functions are dropped with it; they are created again in the same transaction. Not by
-- CASCADE: if anything else depends on them, the deployment fails and says on what.
CREATE OR REPLACE FUNCTION pawl.replace_row_type(view_name text, query text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    one regprocedure;
BEGIN
    BEGIN
        EXECUTE format('CREATE OR REPLACE VIEW %s AS %s', view_name, query);
        RETURN;
    EXCEPTION
        WHEN invalid_table_definition THEN NULL;
    END;
    FOR one IN SELECT p.oid FROM pg_proc p JOIN pg_type y ON y.oid = p.prorettype
               WHERE y.typrelid = view_name::regclass
    LOOP
        EXECUTE format('DROP FUNCTION %s', one);
    END LOOP;
    EXECUTE format('DROP VIEW %s', view_name);
    EXECUTE format('CREATE VIEW %s AS %s', view_name, query);
END
$$;

-- What every deployment runs after the migrations that are missing and before views/, functions/ and triggers/.
-- docs/internals/migrations.md

-- Views, and the bodies of functions in SQL, keep the operators that were found when they were made: none of
-- public's.
SET LOCAL search_path = pg_catalog, pg_temp;

-- A view, where it is not there or was another one. What is the same stays untouched: to replace a view is to wait
-- for every transaction that has read it, and all later ones wait behind that.
--
-- A view can be replaced by one that has more columns at its end. Where they come in between, which only row types
-- do, the functions that return its rows are dropped with it; they are created again in the same transaction. Not
-- by CASCADE: if anything else depends on them, the deployment fails and says on what.
CREATE OR REPLACE FUNCTION pawl.replace_view(view_name text, query text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    same boolean;
    one  regprocedure;
BEGIN
    IF to_regclass(view_name) IS NOT NULL THEN
        EXECUTE format('CREATE VIEW %s_next AS %s', view_name, query);
        same := pg_get_viewdef((view_name || '_next')::regclass) = pg_get_viewdef(view_name::regclass);
        EXECUTE format('DROP VIEW %s_next', view_name);
        IF same THEN
            RETURN;
        END IF;
    END IF;
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

-- Every deployment runs this after the missing migrations and before views/, functions/ and triggers/.
-- docs/internals/migrations.md

-- Pin the search_path: views and SQL function bodies keep the operators that they resolve to now, and must not
-- use any from public.
SET LOCAL search_path = pg_catalog, pg_temp;

-- Create a view, or replace it if its definition differs. An unchanged view is not touched: replacing it would
-- wait for every transaction that has read it, and all later ones would queue behind that.
--
-- A view can be replaced by one with additional columns at its end. Where columns are added in between, which
-- happens only with row types, the functions that return its rows are dropped with it and created again in the
-- same transaction. CASCADE is not used: if anything else depends on them, the deployment fails and names it.
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

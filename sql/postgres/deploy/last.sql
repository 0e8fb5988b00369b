-- Every deployment runs this at its end: it sets the functions' settings and privileges. pg_temp is named last,
-- because an unnamed pg_temp is searched first and the caller's temporary tables would hide everything else.
DO $$
DECLARE
    space CONSTANT oid := (SELECT c.relnamespace FROM pg_class c WHERE c.oid = 'pawl.meta'::regclass);
    owner CONSTANT name := (SELECT r.rolname FROM pg_namespace n JOIN pg_roles r ON r.oid = n.nspowner
                            WHERE n.oid = space);
    missing text[];
    one     record;
BEGIN
    -- A function with an additional argument is an overload, and a call that matches both is ambiguous. Drop
    -- every function that this transaction has not created: it belongs to an older release.
    FOR one IN SELECT p.oid::regprocedure AS name
               FROM pawl.access() a
               JOIN pg_proc p ON p.pronamespace = space AND p.proname = a.function_name
               WHERE p.xmin <> pg_current_xact_id()::xid AND p.proname NOT IN ('clock', 'now')
    LOOP
        EXECUTE format('DROP FUNCTION %s', one.name);
    END LOOP;

    FOR one IN SELECT p.oid::regprocedure AS name, a.caller
               FROM pawl.access() a
               JOIN pg_proc p ON p.pronamespace = space AND p.proname = a.function_name
               WHERE a.caller <> 'part'
    LOOP
        EXECUTE format('ALTER FUNCTION %s %s SET search_path = pg_catalog, pg_temp', one.name,
                       CASE one.caller WHEN 'owner' THEN '' ELSE 'SECURITY DEFINER' END);
    END LOOP;

    -- If a superuser installs pawl into another role's schema, that role becomes the owner of all objects. A
    -- role that may only create objects in the schema keeps them, and the functions run with its privileges.
    IF owner <> current_user AND pg_has_role(current_user, owner, 'MEMBER') THEN
        FOR one IN SELECT format('%s %s', CASE c.relkind WHEN 'v' THEN 'VIEW' WHEN 'S' THEN 'SEQUENCE'
                                                         ELSE 'TABLE' END, c.oid::regclass) AS name
                   FROM pg_class c
                   WHERE c.relnamespace = space AND c.relkind IN ('r', 'v', 'S')
                     AND NOT EXISTS (SELECT FROM pg_depend d -- a column's own sequence goes with its table
                                     WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
                                       AND d.refclassid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')
                                       AND c.relkind = 'S')
                   UNION ALL
                   SELECT format('FUNCTION %s', p.oid::regprocedure) FROM pg_proc p WHERE p.pronamespace = space
        LOOP
            EXECUTE format('ALTER %s OWNER TO %I', one.name, owner);
        END LOOP;
    END IF;

    missing := pawl.grant_roles();
    IF missing <> '{}' THEN
        RAISE NOTICE 'the roles % do not exist and may not be created; run `pawl grant` as a CREATEROLE role',
            array_to_string(missing, ', ');
    END IF;
END
$$;

UPDATE pawl.meta SET code_release = @CODE_RELEASE@, code_digest = '@CODE_DIGEST@';

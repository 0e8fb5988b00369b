-- Privileges. The three roles have no privilege on any table or sequence. They may call functions, which run
-- with the privileges of the schema's owner under a search_path that contains no other user's objects, and
-- (pawl_work and pawl_admin) read views. docs/internals/roles.md
--
-- Roles belong to the whole server. Where they may not be created, only the owner can call the functions until
-- a role with sufficient privileges calls grant_roles(), as `pawl grant` does.

-- The library's form of reading pawl.meta: whether this is a pawl schema, and which version.
CREATE OR REPLACE FUNCTION pawl.schema_version()
RETURNS TABLE (product text, version integer, compatible_from integer, code_release integer, code_digest text)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT m.product, m.version, m.compatible_from, m.code_release, m.code_digest FROM pawl.meta m;
END
$$;

-- Every function of the schema with the lowest role that may call it: pawl_work may also call the functions of
-- pawl_send, and pawl_admin those of both. 'owner': no role. 'part': no role, and only called by other
-- functions, under their settings; it has none of its own, which would cost some microseconds per call. A test
-- fails for a function that is not listed.
CREATE OR REPLACE FUNCTION pawl.access() RETURNS TABLE (function_name text, caller text)
LANGUAGE sql IMMUTABLE AS $$
    SELECT f.name, r.caller
    FROM (VALUES
        ('pawl_send', ARRAY[
            'schema_version', 'now', 'new_message_id', 'enqueue', 'enqueue_plain', 'enqueue_batch', 'schedule']),
        ('pawl_work', ARRAY[
            -- claims, finishing them, maintenance
            'claim', 'ack_and_claim', 'claim_batch', 'claim_notes', 'owned', 'ack', 'ack_output', 'fail', 'abandon', 'defer', 'renew',
            'release', 'progress', 'reap', 'reap_batch', 'expire', 'prune', 'prune_batch', 'compact_stats', 'compact_stats_batch',
            'topic_pause', 'topic_resume', 'topic_dead', 'topic_list',
            'dead_claim', 'dead_done', 'dead_abandon', 'dead_renew',
            'idle', 'busy', 'snapshot_passed', 'next_due', 'topics_due', 'destinations', 'find',
            'timer_pending', 'timer_count', 'pending', 'unschedule',
            'lease_get', 'lease_list', 'lease_acquire', 'lease_renew', 'lease_release', 'lease_is_held',
            'lease_guard', 'lease_clean',
            'inbox_begin', 'inbox_lease', 'inbox_finish', 'inbox_done', 'inbox_fail', 'inbox_give_up',
            'inbox_release', 'inbox_renew', 'inbox_seen', 'inbox_get', 'inbox_list', 'inbox_clean', 'inbox_stats',
            'job_due', 'job_advance', 'job_clean', 'job_switch', 'job_enable', 'job_disable', 'job_fire',
            'job_trigger', 'job_remove', 'job_delete', 'job_get', 'job_list', 'job_run_list', 'job_run_get',
            'job_put']),
        ('pawl_admin', ARRAY[
            'get', 'list_any', 'list_unfinished', 'list_dead', 'stats', 'cancel', 'retry', 'purge', 'wake_destination',
            'lease_force', 'inbox_retry', 'inbox_purge', 'clock_reset']),
        ('owner', ARRAY[
            'access', 'grant_roles', 'replace_view', 'job_changed_by_user', 'job_corrected', 'queue_run_held', 'queue_run_ended']),
        ('part', ARRAY[
            'clock', 'check_span', 'check_number', 'check_messages', 'message_problem', 'seconds', 'backoff',
            'tag_array', 'tags_fit', 'cut_text', 'wake', 'lane_for', 'enqueue_rows', 'claims_ended', 'leave_which', 'expire_ids', 'lane_clean', 'topic_paused',
            'lanes_read_pause', 'list_seen', 'lease_check',
            'inbox_lock', 'inbox_check', 'job_start', 'job_missing',
            'clock_watch_batch', 'clock_heal_part', 'clock_heal_queue', 'clock_heal_leases', 'clock_heal_inbox',
            'clock_heal_dead'])
        ) AS r(caller, names)
    CROSS JOIN LATERAL unnest(r.names) AS f(name)
$$;

-- Creates the missing roles, revokes all privileges from them and from PUBLIC, and grants the listed ones.
-- Returns the roles that do not exist and may not be created; in that case nothing was granted.
CREATE OR REPLACE FUNCTION pawl.grant_roles() RETURNS text[]
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    space CONSTANT oid := (SELECT c.relnamespace FROM pg_class c WHERE c.oid = 'pawl.meta'::regclass);
    roles CONSTANT text[] := ARRAY['pawl_send', 'pawl_work', 'pawl_admin'];
    missing text[];
    one     record;
BEGIN
    REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pawl FROM PUBLIC;
    REVOKE ALL ON ALL TABLES IN SCHEMA pawl FROM PUBLIC;
    REVOKE ALL ON ALL SEQUENCES IN SCHEMA pawl FROM PUBLIC;
    FOR one IN SELECT r.name FROM unnest(roles) WITH ORDINALITY AS r(name, place)
               WHERE NOT EXISTS (SELECT FROM pg_roles p WHERE p.rolname = r.name)
               ORDER BY r.place
    LOOP
        BEGIN
            EXECUTE format('CREATE ROLE %I NOLOGIN', one.name);
        EXCEPTION
            WHEN duplicate_object OR unique_violation THEN NULL; -- another session created it first
            WHEN insufficient_privilege THEN missing := missing || one.name;
        END;
    END LOOP;
    IF missing IS NOT NULL THEN
        RETURN missing;
    END IF;

    REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pawl FROM pawl_send, pawl_work, pawl_admin;
    REVOKE ALL ON ALL TABLES IN SCHEMA pawl FROM pawl_send, pawl_work, pawl_admin;
    REVOKE ALL ON ALL SEQUENCES IN SCHEMA pawl FROM pawl_send, pawl_work, pawl_admin;
    REVOKE ALL ON SCHEMA pawl FROM pawl_send, pawl_work, pawl_admin;
    -- The two statements above do not revoke column privileges.
    FOR one IN SELECT DISTINCT a.attrelid::regclass AS relation, a.attname AS name
               FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
               WHERE c.relnamespace = space AND a.attacl IS NOT NULL
    LOOP
        EXECUTE format('REVOKE ALL (%I) ON %s FROM PUBLIC, pawl_send, pawl_work, pawl_admin',
                       one.name, one.relation);
    END LOOP;

    GRANT USAGE ON SCHEMA pawl TO pawl_send, pawl_work, pawl_admin;
    FOR one IN SELECT a.caller, string_agg(p.oid::regprocedure::text, ', ') AS functions
               FROM pawl.access() a
               JOIN pg_proc p ON p.pronamespace = space AND p.proname = a.function_name
               WHERE a.caller = ANY (roles) GROUP BY a.caller
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s', one.functions,
                       array_to_string(roles[array_position(roles, one.caller):], ', '));
    END LOOP;
    -- Views read the tables with the privileges of their owner.
    GRANT SELECT ON pawl.message, pawl.outbox, pawl.timer, pawl.inbox, pawl.jobs, pawl.job_runs, pawl.job_status
        TO pawl_work, pawl_admin;
    RETURN '{}';
END
$$;

-- Make the schema as it was when it was new: no rows but those it came with, sequences at their start.
-- harness.newest is the oid of the newest relation that it came with; harness.sessions the
-- application_name of the sessions that used it.
DO $$
DECLARE
    one record;
    filled text;
    waited integer := 0;
BEGIN
    -- A client is gone before its server process is, which may still be about to write something.
    WHILE EXISTS (SELECT FROM pg_stat_get_activity(NULL) AS a
                   WHERE a.application_name = current_setting('harness.sessions')
                     AND a.pid <> pg_backend_pid()) LOOP
        IF waited >= 200 THEN
            PERFORM pg_terminate_backend(a.pid) FROM pg_stat_get_activity(NULL) AS a
              WHERE a.application_name = current_setting('harness.sessions')
                AND a.pid <> pg_backend_pid();
        END IF;
        PERFORM pg_sleep(0.001);
        PERFORM pg_stat_clear_snapshot();
        waited := waited + 1;
        IF waited > 10000 THEN
            RAISE EXCEPTION 'a session of the test does not end';
        END IF;
    END LOOP;
    FOR one IN SELECT c.oid::regclass AS name, c.relname,
                      c.oid::bigint > current_setting('harness.newest')::bigint AS is_new
                 FROM pg_class c
                WHERE c.relnamespace = 'pawl'::regnamespace AND c.relkind = 'r' LOOP
        IF one.is_new THEN
            EXECUTE format('DROP TABLE %s CASCADE', one.name);
        ELSIF one.relname = 'test_clock' THEN
            TRUNCATE pawl.test_clock;
            INSERT INTO pawl.test_clock (now) VALUES ('2026-01-01T00:00:00Z');
        ELSIF one.relname = 'clock_watch' THEN
            TRUNCATE pawl.clock_watch;
            INSERT INTO pawl.clock_watch DEFAULT VALUES;
        ELSIF one.relname NOT IN ('meta', 'mutex') AND pg_relation_size(one.name) > 0 THEN
            filled := concat_ws(', ', filled, one.name);
        END IF;
    END LOOP;
    IF filled IS NOT NULL THEN
        EXECUTE format('TRUNCATE %s CASCADE', filled);
    END IF;
    PERFORM setval(q.seqrelid::regclass, q.seqstart, false)
       FROM pg_sequence q JOIN pg_class c ON c.oid = q.seqrelid
      WHERE c.relnamespace = 'pawl'::regnamespace;
END
$$;

-- The test clock: a row that tests move, in place of the server's clock. Installed by tests only.
-- UPDATE pawl.test_clock SET now = timestamptz;
CREATE TABLE pawl.test_clock (now timestamptz NOT NULL);
INSERT INTO pawl.test_clock (now) VALUES ('2026-01-01T00:00:00Z');
DO $$
BEGIN
    GRANT SELECT ON pawl.test_clock TO pawl_send, pawl_work, pawl_admin;
EXCEPTION
    WHEN undefined_object THEN NULL; -- roles that could not be created are not used either
END
$$;
CREATE OR REPLACE FUNCTION pawl.clock() RETURNS timestamptz
LANGUAGE sql VOLATILE AS 'SELECT now FROM pawl.test_clock';

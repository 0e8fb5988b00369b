-- The test clock: a row that tests update instead of reading the server's clock. Installed only by tests.
-- UPDATE pawl.test_clock SET now = timestamptz;
CREATE TABLE pawl.test_clock (now timestamptz NOT NULL);
INSERT INTO pawl.test_clock (now) VALUES ('2026-01-01T00:00:00Z');
CREATE OR REPLACE FUNCTION pawl.clock() RETURNS timestamptz
LANGUAGE sql VOLATILE AS 'SELECT now FROM pawl.test_clock';

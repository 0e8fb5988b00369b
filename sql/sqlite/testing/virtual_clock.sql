-- The test clock: a row that tests move, in place of the machine's clock. Installed by tests only.
-- UPDATE pawl_test_clock SET now = microseconds;
CREATE TABLE pawl_test_clock (now INTEGER NOT NULL) STRICT;
INSERT INTO pawl_test_clock (now) VALUES (1767225600000000); -- 2026-01-01T00:00:00Z
DROP VIEW pawl_wall;
CREATE VIEW pawl_wall AS SELECT now FROM pawl_test_clock;

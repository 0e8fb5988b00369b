-- The test clocks: a row that tests move, in place of the machine's clocks. Installed by tests only.
-- Time passes: UPDATE pawl_test_clock SET now = now + n, boot = boot + n;
-- The wall clock is stepped: UPDATE pawl_test_clock SET now = microseconds;
-- The machine is started again: UPDATE pawl_test_clock SET boot = 0, boot_id = another;
CREATE TABLE pawl_test_clock (
    now     INTEGER NOT NULL,
    boot    INTEGER NOT NULL DEFAULT 1000000000,
    boot_id TEXT    NOT NULL DEFAULT 'first'
) STRICT;
INSERT INTO pawl_test_clock (now) VALUES (1767225600000000); -- 2026-01-01T00:00:00Z
DROP VIEW pawl_wall;
CREATE VIEW pawl_wall AS SELECT now FROM pawl_test_clock;
DROP VIEW IF EXISTS pawl_boot;
CREATE VIEW pawl_boot AS SELECT boot AS now, boot_id AS id FROM pawl_test_clock;

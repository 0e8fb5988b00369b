-- The test clocks: a row that tests update instead of reading the machine's clocks. Installed only by tests.
-- Advance time:          UPDATE pawl_test_clock SET now = now + n, boot = boot + n;
-- Step the wall clock:   UPDATE pawl_test_clock SET now = microseconds;
-- Reboot the machine:    UPDATE pawl_test_clock SET boot = 0, boot_id = another;
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

-- The test clock moves on by :us microseconds.
UPDATE pawl_test_clock SET now = now + :us;

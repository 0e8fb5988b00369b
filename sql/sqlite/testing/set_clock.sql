-- The test clock shows :us microseconds since 1970.
UPDATE pawl_test_clock SET now = :us;

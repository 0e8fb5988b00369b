-- The wall clock is stepped to :us microseconds since 1970; the boot clock does not notice.
UPDATE pawl_test_clock SET now = :us;

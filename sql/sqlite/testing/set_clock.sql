-- Step the wall clock to :us microseconds since 1970; the boot clock does not change.
UPDATE pawl_test_clock SET now = :us;

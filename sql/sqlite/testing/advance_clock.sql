-- Time passes: both clocks move on by :us microseconds.
UPDATE pawl_test_clock SET now = now + :us, boot = boot + :us;

-- Advance both clocks by :us microseconds.
UPDATE pawl_test_clock SET now = now + :us, boot = boot + :us;

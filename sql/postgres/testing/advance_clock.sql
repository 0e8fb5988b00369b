-- Advance the test clock by :us microseconds.
UPDATE pawl.test_clock SET now = now + :us * interval '1 microsecond';

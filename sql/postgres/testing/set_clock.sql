-- Set the test clock to :us microseconds since 1970.
UPDATE pawl.test_clock SET now = to_timestamp(0) + :us * interval '1 microsecond';

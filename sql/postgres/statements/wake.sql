-- What waits for another attempt at a destination is due now.
SELECT pawl.wake_destination(destination => :destination, max_rows => :limit);

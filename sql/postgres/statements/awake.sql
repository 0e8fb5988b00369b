-- No longer asleep.
SELECT * FROM pawl.awake(sleeper => :sleeper);

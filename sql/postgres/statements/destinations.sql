-- Destinations by name, and whether there are unfinished messages for them.
SELECT * FROM pawl.destinations(after => :after, scan => :scan);

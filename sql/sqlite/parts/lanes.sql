-- Lanes that these messages are the first of.
INSERT OR IGNORE INTO pawl_lane (topic, priority, destination)
SELECT topic, priority, coalesce(destination, '') FROM pawli_rows(:rows) WHERE other_lane;

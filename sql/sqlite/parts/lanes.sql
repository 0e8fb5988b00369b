-- Lanes that these messages are the first of.
INSERT OR IGNORE INTO pawl_lane (topic, priority)
SELECT topic, priority FROM pawli_rows(:rows) WHERE other_lane;

-- The clock, and when the next message is ready after it.
SELECT * FROM pawl.next_due(topics => :topics, destinations => :destinations, others => :others);

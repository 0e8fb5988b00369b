-- Per topic: what is unfinished, and what has ended.
SELECT * FROM pawl.stats(cap => :cap);

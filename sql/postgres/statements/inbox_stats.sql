-- How many are in which state.
SELECT * FROM pawl.inbox_stats(cap => :cap);

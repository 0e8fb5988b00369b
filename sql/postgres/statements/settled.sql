-- Whether all transactions from before the epoch have ended; NULL: begins one.
SELECT * FROM pawl.settled(epoch => :epoch);

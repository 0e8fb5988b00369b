-- Set back every time that was written while the server's clock was ahead.
SELECT * FROM pawl.clock_reset(force => :force, dry_run => :dry_run);

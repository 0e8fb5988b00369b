-- A sleeping worker, or with present = false only its notification to itself.
SELECT * FROM pawl.sleep(sleeper => :sleeper, present => :present);

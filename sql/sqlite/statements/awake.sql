-- A sleeper is not written down.
SELECT :sleeper WHERE 0;

-- A sleeper need not be written down: it sees every commit by itself (docs/internals/wake-ups.md).
SELECT :sleeper, :present WHERE 0;

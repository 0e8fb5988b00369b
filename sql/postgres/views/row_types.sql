-- Row types that functions return. These views have no rows and are never read.
DO $$
BEGIN
    -- The rows of claim_batch(): messages, followed by rows with NULL message columns that tell the next claim
    -- where it may start (docs/internals/claim-cursor.md):
    --   item 1: `at` is a clock reading, `number` this transaction's id, assigned before the reading
    --   item 2: `number` is the end of the list of item 3: this id and all higher ones count as running
    --   item 3: `number` is the id of a lower transaction that was running
    --   item 4: `number` is a lane that was scanned, `at` its oldest row that is ready and not claimed
    -- how many messages of an earlier claim were acknowledged:
    --   item 5: `number` of them
    -- and where the rotation over the lanes ended:
    --   item 6: `number` is the lane of the last claimed message, `at` the clock reading
    PERFORM pawl.replace_view('pawl.claimed',
        'SELECT m.*, 0::smallint AS item, 0::bigint AS number, m.due_at AS at FROM pawl.message m WHERE false');

    -- Dead letters whose handler is due, with the columns of claim(). The lease is that of the call, and
    -- `calls` is the number of the call.
    PERFORM pawl.replace_view('pawl.dead_claimed',
        'SELECT m.*, 0 AS calls FROM pawl.message m WHERE false');

    -- A message or an inbox record, whether it matches the filter, and whether the scan ended at its limit. The
    -- last scanned row is always returned, so that the next page can start there.
    PERFORM pawl.replace_view('pawl.listed',
        'SELECT m.*, false AS matches, false AS bounded FROM pawl.message m WHERE false');
    PERFORM pawl.replace_view('pawl.inbox_listed',
        'SELECT i.*, false AS matches, false AS bounded FROM pawl.inbox_record i WHERE false');

    -- A lease. `result` of lease_acquire() is 0 held by another owner, 1 extended, 2 acquired; of the other
    -- functions it is 1 on success. "at" is the clock reading that decided.
    PERFORM pawl.replace_view('pawl.lease_answer',
        'SELECT 0::smallint AS result, clock_timestamp() AS at, l.* FROM pawl.lease l WHERE false');
END
$$;

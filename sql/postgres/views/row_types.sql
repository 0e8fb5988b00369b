-- Row types that functions return. These views have no rows and are never read. What a function adds to a row comes
-- before the row's columns, so that a release that adds a column can replace the view.
DO $$
BEGIN
    -- The rows of claim_batch(): a message, the lane it comes from, and the clock reading with which the scan
    -- began (docs/internals/claim-cursor.md).
    PERFORM pawl.replace_view('pawl.claimed',
        'SELECT 0::bigint AS lane, m.due_at AS clock, m.* FROM pawl.message m WHERE false');

    -- Dead letters whose handler is due, with the columns of claim(). The lease is that of the call, and
    -- `calls` is the number of the call.
    PERFORM pawl.replace_view('pawl.dead_claimed',
        'SELECT 0 AS calls, m.* FROM pawl.message m WHERE false');

    -- A message or an inbox record, whether it matches the filter, and whether the scan ended at its limit. The
    -- last scanned row is always returned, so that the next page can start there.
    PERFORM pawl.replace_view('pawl.listed',
        'SELECT false AS matches, false AS bounded, m.* FROM pawl.message m WHERE false');
    PERFORM pawl.replace_view('pawl.inbox_listed',
        'SELECT false AS matches, false AS bounded, i.* FROM pawl.inbox_record i WHERE false');

    -- A lease. `result` of lease_acquire() is 0 held by another owner, 1 extended, 2 acquired; of the other
    -- functions it is 1 on success. "at" is the clock reading that decided.
    PERFORM pawl.replace_view('pawl.lease_answer',
        'SELECT 0::smallint AS result, clock_timestamp() AS at, l.* FROM pawl.lease l WHERE false');
END
$$;

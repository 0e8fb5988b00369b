-- What functions return a row of. Nobody reads these views, which have no rows: they are the types.
DO $$
BEGIN
    -- What claim_batch answers: messages, and then, where the message columns are NULL, what the next
    -- claim needs to know where it may start (docs/internals/claim-cursor.md):
    --   item 1: `at` is a clock reading, `number` this transaction's id, taken after it
    --   item 2: `number` is where the list of item 3 ends: this id and all higher ones count as running
    --   item 3: `number` is the id of a transaction below that which was running
    --   item 4: `number` is a lane that was looked at, `at` its oldest row that is ready and not taken
    -- and how many messages of an earlier claim were done:
    --   item 5: `number` of them
    -- and whose turn it was:
    --   item 6: `number` is the lane that the last message was taken from, `at` the clock reading
    PERFORM pawl.replace_view('pawl.claimed',
        'SELECT m.*, 0::smallint AS item, 0::bigint AS number, m.due_at AS at FROM pawl.message m WHERE false');

    -- Dead letters whose handler is to be called now, as claim() answers messages; the lease is that of the
    -- call, and `calls` says which one it is.
    PERFORM pawl.replace_view('pawl.dead_claimed',
        'SELECT m.*, 0 AS calls FROM pawl.message m WHERE false');

    -- A message or an inbox record, whether it matches (the last row looked at is always answered, so that
    -- the next page can start there) and whether the scan ended by its bound.
    PERFORM pawl.replace_view('pawl.listed',
        'SELECT m.*, false AS matches, false AS bounded FROM pawl.message m WHERE false');
    PERFORM pawl.replace_view('pawl.inbox_listed',
        'SELECT i.*, false AS matches, false AS bounded FROM pawl.inbox_record i WHERE false');

    -- A lease. result: of lease_acquire 0 held by somebody else, 1 extended, 2 taken; of the others 1 if they
    -- did it. "at" is the clock that decided.
    PERFORM pawl.replace_view('pawl.lease_answer',
        'SELECT 0::smallint AS result, clock_timestamp() AS at, l.* FROM pawl.lease l WHERE false');
END
$$;

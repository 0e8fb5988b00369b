-- Looking after the inbox: lists, counts, dead records, and forgetting what was kept long enough.

-- A record, whether it matches (the last row looked at is always answered, so that the next page can
-- start there) and whether the scan ended by its bound.
CREATE VIEW pawl.inbox_listed AS
    SELECT i.*, false AS matches, false AS bounded FROM pawl.inbox_record i WHERE false;

-- Records, newest first, without their responses. Looks at `scan` rows at most. `kind` chooses the
-- index: 0 all records, 1 unfinished, 2 dead.
CREATE FUNCTION pawl.inbox_list(
    states   bigint  DEFAULT 15, -- a bit for each state: 1 seen, 2 processing, 4 done, 8 dead
    source   text    DEFAULT NULL,
    before   bigint  DEFAULT 9223372036854775807,
    max_rows bigint  DEFAULT 100,
    scan     bigint  DEFAULT 10000,
    kind     integer DEFAULT 0)
RETURNS SETOF pawl.inbox_listed
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    seen bigint[];
BEGIN
    IF kind = 1 THEN
        seen := ARRAY(SELECT s.number FROM pawl.inbox_record s
                      WHERE s.state IN (0, 1) AND s.number < before ORDER BY s.number DESC LIMIT scan);
    ELSIF kind = 2 THEN
        seen := ARRAY(SELECT s.number FROM pawl.inbox_record s
                      WHERE s.state = 3 AND s.number < before ORDER BY s.number DESC LIMIT scan);
    ELSE
        seen := ARRAY(SELECT s.number FROM pawl.inbox_record s
                      WHERE s.number < before ORDER BY s.number DESC LIMIT scan);
    END IF;
    RETURN QUERY
        SELECT i.number, i.fence, i.duplicates, i.lease_until, i.first_seen, i.last_seen,
               i.processed_at, i.expires_at, i.attempts, i.max_attempts, i.state, i.source, i.id,
               i.hash, i.endpoint, i.error, NULL::bytea, i.suspect, i.holder, m.matches, cardinality(seen) = scan
        FROM unnest(seen) WITH ORDINALITY AS s(number, place)
        CROSS JOIN LATERAL (SELECT r.* FROM pawl.inbox_record r WHERE r.number = s.number LIMIT 1) i
        CROSS JOIN LATERAL (SELECT ((1 << i.state) & states) <> 0
                                   AND (inbox_list.source IS NULL OR i.source = inbox_list.source) AS matches) m
        WHERE m.matches OR s.place = cardinality(seen)
        ORDER BY s.place
        LIMIT max_rows;
END
$$;

-- Dead records get all their attempts again, when the message comes again. Returns how many.
CREATE FUNCTION pawl.inbox_requeue(
    source   text     DEFAULT NULL, -- NULL: of all
    id       text     DEFAULT NULL,
    keep     interval DEFAULT interval '48 hours',
    max_rows bigint   DEFAULT 1000)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
    chosen bigint[];
BEGIN
    PERFORM pawl.check_span('inbox_requeue: keep', inbox_requeue.keep, @INBOX_KEEP_LEAST@, @INBOX_KEEP_MOST@, '@INBOX_KEEP_WORDS@');
    chosen := ARRAY(
        SELECT i.number FROM pawl.inbox_record i
        WHERE i.state = 3 AND (inbox_requeue.source IS NULL OR i.source = inbox_requeue.source)
          AND (inbox_requeue.id IS NULL OR i.id = inbox_requeue.id)
        ORDER BY i.number LIMIT max_rows
        FOR UPDATE SKIP LOCKED);
    UPDATE pawl.inbox_record i
    SET state = 0, attempts = 0, suspect = false, lease_until = 'epoch', expires_at = t + inbox_requeue.keep
    WHERE i.number = ANY (chosen);
    RETURN cardinality(chosen);
END
$$;

-- Forget dead records. Returns how many.
CREATE FUNCTION pawl.inbox_purge(
    source text DEFAULT NULL, id text DEFAULT NULL, max_rows bigint DEFAULT 1000)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    chosen bigint[];
BEGIN
    chosen := ARRAY(
        SELECT i.number FROM pawl.inbox_record i
        WHERE i.state = 3 AND (inbox_purge.source IS NULL OR i.source = inbox_purge.source)
          AND (inbox_purge.id IS NULL OR i.id = inbox_purge.id)
        ORDER BY i.number LIMIT max_rows
        FOR UPDATE SKIP LOCKED);
    DELETE FROM pawl.inbox_record i WHERE i.number = ANY (chosen);
    RETURN cardinality(chosen);
END
$$;

-- Forget what has been kept long enough. Whoever is still at one keeps it. Returns how many.
CREATE FUNCTION pawl.inbox_clean(max_rows bigint DEFAULT 1000) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
    old bigint[];
BEGIN
    old := ARRAY(
        SELECT i.number FROM pawl.inbox_record i
        WHERE i.expires_at <= t AND (i.state <> 1 OR i.lease_until <= t)
        ORDER BY i.expires_at LIMIT max_rows
        FOR UPDATE SKIP LOCKED);
    DELETE FROM pawl.inbox_record i WHERE i.number = ANY (old);
    RETURN cardinality(old);
END
$$;

-- How many are in which state, each counted up to `cap`; `stuck` are processing past their lease.
CREATE FUNCTION pawl.inbox_stats(cap bigint DEFAULT 10000)
RETURNS TABLE (seen bigint, processing bigint, stuck bigint, done bigint, dead bigint)
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
BEGIN
    RETURN QUERY SELECT
        (SELECT count(*) FROM (SELECT FROM pawl.inbox_record i
                               WHERE i.state IN (0, 1) AND i.state = 0 LIMIT cap) c),
        (SELECT count(*) FROM (SELECT FROM pawl.inbox_record i
                               WHERE i.state IN (0, 1) AND i.state = 1 LIMIT cap) c),
        (SELECT count(*) FROM (SELECT FROM pawl.inbox_record i
                               WHERE i.state IN (0, 1) AND i.state = 1 AND i.lease_until <= t LIMIT cap) c),
        (SELECT count(*) FROM (SELECT FROM pawl.inbox_record i
                               WHERE i.expires_at IS NOT NULL AND i.state = 2 LIMIT cap) c),
        (SELECT count(*) FROM (SELECT FROM pawl.inbox_record i WHERE i.state = 3 LIMIT cap) c);
END
$$;

-- Housekeeping. Each call does a bounded amount of work, and any number of processes may make it at
-- once: a row that somebody else has locked is left to them.

-- Expired leases, found through the claim rows whose check is due (max_rows of those). Counts the
-- attempt, so that a message that kills its worker ends as failed instead of circling for ever. A message
-- with a destination is deferred, unless every send of it counts: that its delivery was killed is not the
-- destination's refusal, and its time to live ends it in any case.
--
-- The library's form of reap(): looks only at claim rows whose check is at cursor_since[1] or later. The
-- first row says how many messages changed, and how many claim rows were read: if these are max_rows, there
-- may be more. After it comes what the next call needs to know where it may start: the
-- items of claim_batch, the claim rows being lane 0. NULL: all are looked at, only the count comes.
CREATE FUNCTION pawl.reap_batch(max_rows bigint, cursor_since timestamptz[])
RETURNS TABLE (changed bigint, scanned bigint, item smallint, number bigint, at timestamptz)
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    began  CONSTANT timestamptz := pawl.clock();
    my_xid CONSTANT xid8 := pg_current_xact_id();
    t      CONSTANT timestamptz := pawl.clock();
    since  CONSTANT timestamptz := coalesce(cursor_since[1], '-infinity');
    due     bigint[];
    lost    bigint[];
    failed  bigint;
    retried bigint;
BEGIN
    due := ARRAY(
        SELECT c.fence FROM pawl.claim c
        WHERE c.check_at >= since AND c.check_at <= t
        ORDER BY c.check_at LIMIT max_rows
        FOR UPDATE SKIP LOCKED);
    IF cardinality(due) > 0 THEN
        lost := ARRAY(
            SELECT r.id
            FROM (SELECT c.fence, unnest(c.ids) AS id FROM pawl.claim c WHERE c.fence = ANY (due)) u
            CROSS JOIN LATERAL (
                SELECT q.id FROM pawl.queue q
                WHERE q.id = u.id AND q.fence = u.fence AND q.lease_until <= t
                LIMIT 1
                FOR UPDATE SKIP LOCKED) r);

        WITH gone AS (
            DELETE FROM pawl.queue q
            WHERE q.id = ANY (lost)
              AND EXISTS (SELECT FROM pawl.body b
                          WHERE b.id = q.id AND (b.destination IS NULL OR b.max_attempts < 0)
                            AND q.retries + 1 >= abs(b.max_attempts))
            RETURNING q.id, q.lane_id, q.retries, q.fence, q.expires_at, q.progress),
        ended AS (
            INSERT INTO pawl.outcome (id, state, finished_at, retries, processed_by, error, expires_at,
                                      progress)
            SELECT g.id, 3, t, g.retries + 1,
                   (SELECT c.owner_name FROM pawl.claim c WHERE c.fence = g.fence),
                   'the lease ran out at the last attempt', g.expires_at, g.progress
            FROM gone g),
        buried AS (
            INSERT INTO pawl.dead (id, run_at)
            SELECT g.id, t FROM gone g
            WHERE EXISTS (SELECT FROM pawl.topic w
                          WHERE w.dead AND w.name IN ('', (SELECT l.topic FROM pawl.lane l WHERE l.id = g.lane_id)))
            ON CONFLICT (id) DO NOTHING),
        counted AS (
            INSERT INTO pawl.tally_delta (lane_id, state, n)
            SELECT g.lane_id, 3, count(*) FROM gone g GROUP BY g.lane_id)
        SELECT count(*) INTO failed FROM gone;

        UPDATE pawl.queue q
        SET retries = q.retries + c.counts, deferrals = q.deferrals + 1 - c.counts,
            owner = '00000000-0000-0000-0000-000000000000',
            lease_until = 'epoch', fence = 0, run_at = t, last_error = 'the lease ran out'
        FROM (SELECT b.id, (b.destination IS NULL OR b.max_attempts < 0)::integer AS counts
              FROM pawl.body b WHERE b.id = ANY (lost)) c
        WHERE q.id = ANY (lost) AND c.id = q.id;
        GET DIAGNOSTICS retried = ROW_COUNT;
        IF retried > 0 THEN
            PERFORM pawl.wake();
        END IF;

        -- Claims with nothing left go; those with renewed items are looked at again when the first
        -- ends; those with an item that was locked just now soon: not at once, so that reaping until
        -- nothing is due comes to an end. Never with a time that is past: a cursor may be beyond it.
        UPDATE pawl.claim c
        SET check_at = (SELECT CASE WHEN min(r.lease_until) > t THEN min(r.lease_until)
                                    ELSE t + interval '100 milliseconds' END
                        FROM unnest(c.ids) AS u(id)
                        CROSS JOIN LATERAL (SELECT q.lease_until FROM pawl.queue q
                                            WHERE q.id = u.id AND q.fence = c.fence LIMIT 1) r)
        WHERE c.fence = ANY (due)
          AND EXISTS (SELECT FROM unnest(c.ids) AS u(id)
                      CROSS JOIN LATERAL (SELECT FROM pawl.queue q
                                          WHERE q.id = u.id AND q.fence = c.fence LIMIT 1) r);
        DELETE FROM pawl.claim c
        WHERE c.fence = ANY (due)
          AND NOT EXISTS (SELECT FROM unnest(c.ids) AS u(id)
                          CROSS JOIN LATERAL (SELECT FROM pawl.queue q
                                              WHERE q.id = u.id AND q.fence = c.fence LIMIT 1) r);
    END IF;
    changed := coalesce(failed, 0) + coalesce(retried, 0);
    scanned := cardinality(due);
    RETURN NEXT;
    IF cursor_since IS NULL THEN
        RETURN;
    END IF;

    -- One statement, so that all of it is true of one snapshot.
    changed := NULL;
    scanned := NULL;
    FOR item, number, at IN
        SELECT 1, my_xid::text::bigint, began
        UNION ALL
        SELECT 2, least(pg_snapshot_xmax(pg_current_snapshot()), my_xid)::text::bigint, NULL
        UNION ALL
        SELECT 3, x.xid::text::bigint, NULL
        FROM pg_snapshot_xip(pg_current_snapshot()) AS x(xid) WHERE x.xid < my_xid
        UNION ALL
        SELECT 4, 0, (SELECT c.check_at FROM pawl.claim c
                      WHERE c.check_at >= since AND c.check_at <= t
                      ORDER BY c.check_at LIMIT 1)
    LOOP
        RETURN NEXT;
    END LOOP;
END
$$;

-- The same for psql and every language.
CREATE FUNCTION pawl.reap(max_rows bigint DEFAULT 100) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN (SELECT b.changed FROM pawl.reap_batch(reap.max_rows, NULL) b);
END
$$;

-- What nobody holds and is past its time to live; then failed messages that are past theirs.
CREATE FUNCTION pawl.expire(max_rows bigint DEFAULT 1000) RETURNS bigint
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
    late bigint[];
    dead bigint[];
BEGIN
    late := ARRAY(
        SELECT q.id FROM pawl.queue q
        WHERE q.expires_at <= t AND q.fence = 0 ORDER BY q.expires_at LIMIT max_rows
        FOR UPDATE SKIP LOCKED);
    IF cardinality(late) > 0 THEN
        WITH gone AS (
            DELETE FROM pawl.queue q WHERE q.id = ANY (late)
            RETURNING q.id, q.lane_id, q.retries, q.last_error, q.progress),
        buried AS (
            INSERT INTO pawl.dead (id, run_at)
            SELECT g.id, t FROM gone g
            WHERE EXISTS (SELECT FROM pawl.topic w
                          WHERE w.dead AND w.name IN ('', (SELECT l.topic FROM pawl.lane l WHERE l.id = g.lane_id)))
            ON CONFLICT (id) DO NOTHING),
        ended AS (
            INSERT INTO pawl.outcome (id, state, finished_at, retries, error, progress)
            SELECT g.id, 4, t, g.retries, g.last_error, g.progress FROM gone g)
        INSERT INTO pawl.tally_delta (lane_id, state, n)
        SELECT g.lane_id, 4, count(*) FROM gone g GROUP BY g.lane_id;
    END IF;

    -- These were dead letters before, and were recorded as such then.
    dead := ARRAY(
        SELECT o.id FROM pawl.outcome o
        WHERE o.state = 3 AND o.expires_at <= t ORDER BY o.expires_at LIMIT max_rows
        FOR UPDATE SKIP LOCKED);
    IF cardinality(dead) > 0 THEN
        WITH moved AS (
            UPDATE pawl.outcome o SET state = 4, expires_at = NULL WHERE o.id = ANY (dead)
            RETURNING (SELECT b.lane_id FROM pawl.body b WHERE b.id = o.id) AS lane_id)
        INSERT INTO pawl.tally_delta (lane_id, state, n)
        SELECT m.lane_id, 4, count(*) FROM moved m GROUP BY m.lane_id;
    END IF;
    RETURN cardinality(late) + cardinality(dead);
END
$$;

-- Forget what was done or cancelled longer than `keep` ago.
CREATE FUNCTION pawl.retain(keep interval DEFAULT interval '7 days', max_rows bigint DEFAULT 1000)
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
    before timestamptz;
    old bigint[];
BEGIN
    PERFORM pawl.check_span('retain: keep', retain.keep, @KEEP_LEAST@, @KEEP_MOST@, '@KEEP_WORDS@');
    before := pawl.clock() - pawl.seconds(keep);
    old := ARRAY(
        SELECT o.id FROM pawl.outcome o
        WHERE o.state IN (2, 5) AND o.finished_at <= before ORDER BY o.finished_at LIMIT max_rows
        FOR UPDATE SKIP LOCKED);
    IF cardinality(old) > 0 THEN
        DELETE FROM pawl.body b WHERE b.id = ANY (old);
        DELETE FROM pawl.outcome o WHERE o.id = ANY (old);
    END IF;
    RETURN cardinality(old);
END
$$;

-- Move the deltas behind the totals into the tally, and write down which lanes are paused. One at a time; a second caller has nothing to
-- do. Returns how many deltas were moved.
CREATE FUNCTION pawl.fold(max_rows bigint DEFAULT 10000) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    deltas bigint[];
BEGIN
    PERFORM pawl.settle_lanes();
    IF NOT pg_try_advisory_xact_lock('pawl.tally'::regclass::oid::integer, 1) THEN
        RETURN 0;
    END IF;
    deltas := ARRAY(
        SELECT d.id FROM pawl.tally_delta d ORDER BY d.id LIMIT max_rows FOR UPDATE SKIP LOCKED);
    IF cardinality(deltas) > 0 THEN
        WITH gone AS (
            DELETE FROM pawl.tally_delta d WHERE d.id = ANY (deltas)
            RETURNING d.lane_id, d.state, d.n)
        INSERT INTO pawl.tally AS a (lane_id, state, n)
        SELECT g.lane_id, g.state, sum(g.n) FROM gone g GROUP BY g.lane_id, g.state
        ON CONFLICT (lane_id, state) DO UPDATE SET n = a.n + excluded.n;
    END IF;
    RETURN cardinality(deltas);
END
$$;

-- Maintenance. Each call does a bounded amount of work, and any number of processes may call concurrently: a
-- row that another session has locked is left to that session.

-- Ends expired leases, found through the claim rows whose check is due (at most max_rows of them). Counts the
-- attempt, so that a message that crashes its worker fails eventually instead of being retried without limit. A
-- message with a destination is deferred, unless every send of it counts: an interrupted delivery is not a
-- refusal by the destination, and its time to live ends the message in any case.
--
-- This is the library's form of reap(): it scans only claim rows whose check is at cursor_since[1] or later.
-- Returns the number of changed messages and the number of claim rows read: if the latter is max_rows
-- or more, there may be more work, including the recovery after the clock was set back (clock.sql). It leaves
-- to claim_notes() what tells the next call where it may start; the claim rows are lane 0. NULL: all rows
-- are scanned, and nothing is left.
CREATE OR REPLACE FUNCTION pawl.reap_batch(max_rows bigint, cursor_since timestamptz[])
RETURNS TABLE (changed bigint, scanned bigint)
LANGUAGE plpgsql VOLATILE
-- @include ordered_index_plan
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
    healed  CONSTANT bigint := pawl.clock_watch_batch(1000); -- first, because its locks come first
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

        WITH left_queue AS (
            DELETE FROM pawl.queue q
            WHERE q.id = ANY (lost)
              AND EXISTS (SELECT FROM pawl.body b
                          WHERE b.id = q.id AND (b.destination IS NULL OR b.count_all)
                            AND q.retries + 1 >= b.max_attempts)
            RETURNING q.id, q.lane_id, q.retries, q.fence, q.expires_at, q.progress),
        -- @include end_failed error="'the lease expired on the last attempt'"
        SELECT count(*) INTO failed FROM left_queue;

        UPDATE pawl.queue q
        SET retries = q.retries + c.counts, deferrals = q.deferrals + 1 - c.counts,
            owner = '00000000-0000-0000-0000-000000000000',
            lease_until = 'epoch', fence = 0, run_at = t, stamped_at = t, last_error = 'the lease expired'
        FROM (SELECT b.id, (b.destination IS NULL OR b.count_all IS TRUE)::integer AS counts
              FROM pawl.body b WHERE b.id = ANY (lost)) c
        WHERE q.id = ANY (lost) AND c.id = q.id;
        GET DIAGNOSTICS retried = ROW_COUNT;
        IF retried > 0 THEN
            PERFORM pawl.wake();
        END IF;

        -- Claims without messages are removed. Claims with renewed messages are checked again when the first
        -- lease ends. Claims with a message that is locked now are checked soon, but not at once, so that
        -- reaping until nothing is due terminates. The time is never in the past, because a cursor may be
        -- beyond it.
        UPDATE pawl.claim c
        SET check_at = (SELECT CASE WHEN min(r.lease_until) > t THEN min(r.lease_until)
                                    ELSE t + interval '100 milliseconds' END
                        -- @include held_of_claim ids='unnest(c.ids) AS u(id)' columns=q.lease_until
                        )
        WHERE c.fence = ANY (due)
          AND EXISTS (SELECT
                      -- @include held_of_claim ids='unnest(c.ids) AS u(id)' columns=
                      );
        DELETE FROM pawl.claim c
        WHERE c.fence = ANY (due)
          AND NOT EXISTS (SELECT
                          -- @include held_of_claim ids='unnest(c.ids) AS u(id)' columns=
                          );
    END IF;
    changed := coalesce(failed, 0) + coalesce(retried, 0);
    scanned := cardinality(due) + healed; -- max_rows is the library's 100, so this reports that there is more
    RETURN NEXT;
    IF cursor_since IS NULL THEN
        RETURN;
    END IF;

    -- @include leave_notes
        UNION ALL
        SELECT @NOTE_LANE@, 0, (SELECT c.check_at FROM pawl.claim c
                      WHERE c.check_at >= since AND c.check_at <= t
                      ORDER BY c.check_at LIMIT 1)
    -- @include leave_notes_end
END
$$;

-- The same for psql and any language.
CREATE OR REPLACE FUNCTION pawl.reap(max_rows bigint DEFAULT 100) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN (SELECT b.changed FROM pawl.reap_batch(reap.max_rows, NULL) b);
END
$$;

-- Expires those of the messages that have no owner and are past their time to live.
CREATE OR REPLACE FUNCTION pawl.expire_ids(ids bigint[], t timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
BEGIN
    WITH left_queue AS (
        DELETE FROM pawl.queue q WHERE q.id = ANY (ids) AND q.expires_at <= t AND q.fence = 0
        RETURNING q.id, q.lane_id, q.retries, q.last_error, q.progress),
    -- @include record_dead_letters
    ,
    ended AS (
        INSERT INTO pawl.outcome (id, state, finished_at, retries, error, progress)
        SELECT g.id, @STATE_EXPIRED@, t, g.retries, g.last_error, g.progress FROM left_queue g)
    INSERT INTO pawl.topic_stats_delta (lane_id, state, n)
    SELECT g.lane_id, @STATE_EXPIRED@, count(*) FROM left_queue g GROUP BY g.lane_id;
END
$$;

-- Expires messages that are not claimed and past their time to live, then failed messages past theirs.
CREATE OR REPLACE FUNCTION pawl.expire(max_rows bigint DEFAULT 1000) RETURNS bigint
LANGUAGE plpgsql VOLATILE
-- @include ordered_index_plan
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
        PERFORM pawl.expire_ids(late, t);
    END IF;

    -- These are dead letters already, and were recorded when they failed.
    dead := ARRAY(
        SELECT o.id FROM pawl.outcome o
        WHERE o.state = @STATE_FAILED@ AND o.expires_at <= t ORDER BY o.expires_at LIMIT max_rows
        FOR UPDATE SKIP LOCKED);
    IF cardinality(dead) > 0 THEN
        WITH moved AS (
            UPDATE pawl.outcome o SET state = @STATE_EXPIRED@, expires_at = NULL WHERE o.id = ANY (dead)
            RETURNING (SELECT b.topic FROM pawl.body b WHERE b.id = o.id) AS topic)
        INSERT INTO pawl.topic_stats_delta (topic, state, n)
        SELECT m.topic, @STATE_EXPIRED@, count(*) FROM moved m GROUP BY m.topic;
    END IF;
    RETURN cardinality(late) + cardinality(dead);
END
$$;

-- The library's form of prune(): deletes messages that were done or cancelled longer than `keep` ago, and the
-- counts of topics that have no lane and no message that ended since then. Returns the number of deleted
-- messages, and how many rows of both kinds were found: if that is max_rows, there may be more.
CREATE OR REPLACE FUNCTION pawl.prune_batch(keep interval, max_rows bigint)
RETURNS TABLE (changed bigint, scanned bigint)
LANGUAGE plpgsql VOLATILE
-- @include ordered_index_plan
AS $$
#variable_conflict use_column
DECLARE
    before timestamptz;
    old    bigint[];
    names  text[];
    totals bigint := 0;
BEGIN
    PERFORM pawl.check_span('prune: keep', prune_batch.keep, @KEEP_MIN@, @KEEP_MAX@, '@KEEP_RANGE@');
    before := pawl.clock() - pawl.seconds(keep);
    old := ARRAY(
        SELECT o.id FROM pawl.outcome o
        WHERE o.state IN (@STATES_NOT_KEPT@) AND o.finished_at <= before ORDER BY o.finished_at LIMIT max_rows
        FOR UPDATE SKIP LOCKED);
    IF cardinality(old) > 0 THEN
        DELETE FROM pawl.body b WHERE b.id = ANY (old);
        DELETE FROM pawl.outcome o WHERE o.id = ANY (old);
    END IF;
    -- compact_stats() changes these rows under the same lock. If the lock is taken, this is left to the next
    -- call.
    PERFORM FROM pawl.mutex x WHERE x.name = 'totals' FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        -- All states of a topic are deleted together. A delta with a topic is of a message that ended without a
        -- lane.
        names := ARRAY(
            SELECT c.topic FROM pawl.topic_stats c
            WHERE c.changed_at <= before
              AND NOT EXISTS (SELECT FROM pawl.lane l WHERE l.topic = c.topic)
              AND NOT EXISTS (SELECT FROM pawl.topic_stats n WHERE n.topic = c.topic AND n.changed_at > before)
            ORDER BY c.changed_at LIMIT max_rows);
        IF cardinality(names) > 0 THEN
            DELETE FROM pawl.topic_stats a
            WHERE a.topic = ANY (names)
              AND a.topic NOT IN (SELECT d.topic FROM pawl.topic_stats_delta d WHERE d.topic IS NOT NULL);
            GET DIAGNOSTICS totals = ROW_COUNT;
        END IF;
    END IF;
    RETURN QUERY SELECT cardinality(old)::bigint, cardinality(old) + totals;
END
$$;

-- The same for psql and any language. Returns the number of deleted messages.
CREATE OR REPLACE FUNCTION pawl.prune(keep interval DEFAULT interval '@KEEP_DEFAULT_DAYS@ days', max_rows bigint DEFAULT 1000)
RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN (SELECT b.changed FROM pawl.prune_batch(prune.keep, prune.max_rows) b);
END
$$;

-- Removes lanes that have been empty for a while, so that the cost of claims depends on the waiting messages
-- and not on all topics that ever existed. docs/internals/queue.md explains why no message is lost. A lane that
-- is empty and was not used for `idle` is first marked as retiring, and gets no further messages. A later call
-- gives the lane an epoch, a transaction id assigned after the mark is visible to everyone. When all lower ids
-- have ended, every transaction that could have added a message has committed or rolled back. Then an empty
-- lane is removed, and a lane with a message is put back into use.
--
-- Does nothing unless it is the only caller, READ COMMITTED, and the first in its transaction to need an id:
-- its reads must be newer than its lock, and its id newer than the commit of the previous call. Returns the
-- number of lanes that it examined, at most max_rows in each of the three steps.
CREATE OR REPLACE FUNCTION pawl.lane_clean(max_rows bigint, idle interval DEFAULT interval '5 minutes')
RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
    my_xid    bigint;
    chosen    bigint[];
    empty     bigint[];
    worked_on bigint := 0;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed'
       OR pg_current_xact_id_if_assigned() IS NOT NULL THEN
        RETURN 0;
    END IF;
    -- The transaction gets its id when the row is found unlocked, that is after the commit of the previous
    -- call.
    PERFORM FROM pawl.mutex x WHERE x.name = 'lanes' FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    my_xid := pg_current_xact_id()::text::bigint;

    -- Lanes whose epoch has ended. The order matters: lock first, so that no transaction above READ COMMITTED
    -- uses them any more, then check for messages.
    chosen := ARRAY(
        SELECT u.lane_id FROM pawl.lane_use u
        WHERE u.epoch > 0 AND u.epoch <= pg_snapshot_xmin(pg_current_snapshot())::text::bigint
        ORDER BY u.epoch LIMIT max_rows);
    chosen := ARRAY(SELECT l.id FROM pawl.lane l WHERE l.id = ANY (chosen) FOR UPDATE SKIP LOCKED);
    IF cardinality(chosen) > 0 THEN
        -- One statement, because the end of a message removes its row and adds a delta at the same moment.
        empty := ARRAY(
            SELECT c.id FROM unnest(chosen) AS c(id)
            WHERE (SELECT q.id FROM pawl.queue q WHERE q.lane_id = c.id LIMIT 1) IS NULL
              AND c.id NOT IN (SELECT d.lane_id FROM pawl.topic_stats_delta d WHERE d.lane_id IS NOT NULL));
        DELETE FROM pawl.lane l WHERE l.id = ANY (empty);
        DELETE FROM pawl.lane_use u WHERE u.lane_id = ANY (empty);
        UPDATE pawl.lane l SET retiring = false WHERE l.id = ANY (chosen) AND NOT l.id = ANY (empty);
        UPDATE pawl.lane_use u SET epoch = NULL, used_at = t
        WHERE u.lane_id = ANY (chosen) AND NOT u.lane_id = ANY (empty);
        worked_on := cardinality(chosen);
    END IF;

    -- Lanes that an earlier call has marked (epoch 0).
    chosen := ARRAY(SELECT u.lane_id FROM pawl.lane_use u WHERE u.epoch = 0 LIMIT max_rows);
    UPDATE pawl.lane_use u SET epoch = my_xid WHERE u.lane_id = ANY (chosen);
    worked_on := worked_on + cardinality(chosen);

    -- After the clock was set back, a lane that was used in the future counts as used now.
    UPDATE pawl.lane_use u SET used_at = t
    WHERE u.lane_id = ANY (ARRAY(SELECT f.lane_id FROM pawl.lane_use f
                                 WHERE f.epoch IS NULL AND f.used_at > t + idle
                                 ORDER BY f.used_at DESC LIMIT max_rows));

    -- Lanes that were not used for a while. Not while a long transaction keeps such a lane alive: a topic that
    -- is used occasionally would get one new lane after another.
    IF (SELECT u.used_at FROM pawl.lane_use u WHERE u.epoch > 0 ORDER BY u.epoch LIMIT 1)
       < t - interval '1 minute' THEN
        RETURN worked_on;
    END IF;
    chosen := ARRAY(SELECT u.lane_id FROM pawl.lane_use u
                    WHERE u.epoch IS NULL AND u.used_at <= t - idle ORDER BY u.used_at LIMIT max_rows);
    IF cardinality(chosen) > 0 THEN
        empty := ARRAY(SELECT c.id FROM unnest(chosen) AS c(id)
                       WHERE (SELECT q.id FROM pawl.queue q WHERE q.lane_id = c.id LIMIT 1) IS NULL);
        empty := ARRAY(SELECT l.id FROM pawl.lane l WHERE l.id = ANY (empty)
                       FOR NO KEY UPDATE SKIP LOCKED); -- never wait for a lane while holding another one
        UPDATE pawl.lane l SET retiring = true WHERE l.id = ANY (empty);
        UPDATE pawl.lane_use u SET epoch = CASE WHEN u.lane_id = ANY (empty) THEN 0 END, used_at = t
        WHERE u.lane_id = ANY (chosen);
        worked_on := worked_on + cardinality(chosen);
    END IF;
    RETURN worked_on;
END
$$;

-- The library's form of compact_stats(): removes empty lanes, merges the deltas into the counts, and updates
-- the cached pause state of the lanes. One caller at a time; a second one does nothing. Returns the number of
-- merged deltas, and the number of deltas and lanes that were found: if that is max_rows, there may be more.
CREATE OR REPLACE FUNCTION pawl.compact_stats_batch(max_rows bigint)
RETURNS TABLE (changed bigint, scanned bigint)
LANGUAGE plpgsql VOLATILE
-- @include ordered_index_plan
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
    deltas bigint[];
    lanes  bigint[];
    cleaned CONSTANT bigint := pawl.lane_clean(max_rows); -- first, because it must begin the transaction
BEGIN
    PERFORM pawl.lanes_read_pause();
    PERFORM FROM pawl.mutex x WHERE x.name = 'totals' FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN QUERY SELECT 0::bigint, cleaned;
        RETURN;
    END IF;
    deltas := ARRAY(
        SELECT d.id FROM pawl.topic_stats_delta d ORDER BY d.id LIMIT max_rows FOR UPDATE SKIP LOCKED);
    IF cardinality(deltas) > 0 THEN
        lanes := ARRAY(SELECT DISTINCT d.lane_id FROM pawl.topic_stats_delta d WHERE d.id = ANY (deltas));
        WITH moved AS (
            DELETE FROM pawl.topic_stats_delta d WHERE d.id = ANY (deltas)
            RETURNING d.lane_id, d.topic, d.state, d.n),
        named AS (
            SELECT coalesce(g.topic, (SELECT l.topic FROM pawl.lane l WHERE l.id = g.lane_id)) AS topic,
                   g.state, g.n
            FROM moved g)
        INSERT INTO pawl.topic_stats AS a (topic, state, n, changed_at)
        SELECT m.topic, m.state, sum(m.n), t FROM named m
        WHERE m.topic IS NOT NULL GROUP BY m.topic, m.state
        ON CONFLICT (topic, state) DO UPDATE SET n = a.n + excluded.n, changed_at = excluded.changed_at;
        -- Not at every call, because every update leaves a row for vacuum to remove.
        UPDATE pawl.lane_use u SET used_at = t
        WHERE u.lane_id = ANY (lanes) AND u.epoch IS NULL AND u.used_at < t - interval '1 minute';
    END IF;
    RETURN QUERY SELECT cardinality(deltas)::bigint, cardinality(deltas) + cleaned;
END
$$;

-- The same for psql and any language. Returns the number of merged deltas.
CREATE OR REPLACE FUNCTION pawl.compact_stats(max_rows bigint DEFAULT 10000) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN (SELECT b.changed FROM pawl.compact_stats_batch(compact_stats.max_rows) b);
END
$$;

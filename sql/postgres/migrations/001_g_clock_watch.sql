-- When the server's clock was ahead and was set back: what was written meanwhile comes in its time, without
-- a command. docs/internals/clock.md says what is moved, when, and what is left as it is.

-- One row. The passes go over the tables in bounded batches, each from where the one before ended.
CREATE TABLE pawl.clock_watch (
    latest_time timestamptz NOT NULL DEFAULT '-infinity', -- that was seen; written at most every 10 seconds
    seen_id     bigint      NOT NULL DEFAULT 0, -- messages up to this one say nothing about the clock any more
    back_since  timestamptz,                    -- NULL: the clock is not below latest_time
    pass        smallint    NOT NULL DEFAULT 0, -- the next, or the one under way; 0: only what was due at once
    part        smallint    NOT NULL DEFAULT 0, -- of the pass
    after       bigint      NOT NULL DEFAULT 0  -- in the part: the last row that was examined
) WITH (fillfactor = 50);
INSERT INTO pawl.clock_watch DEFAULT VALUES;

-- Messages that wait. A time that the sender named stays; what was stamped by a clock that was ahead waits
-- as long from now on as it was to wait then. Without `everything`: only what was to wait for nothing.
-- t is a clock that was read after the transaction had its id: no claim cursor is beyond it. Returns the last
-- row examined; NULL: that was the end. `changed`: how many were moved.
CREATE FUNCTION pawl.clock_heal_queue(
    t timestamptz, everything boolean, after bigint, max_rows bigint, OUT last bigint, OUT changed bigint)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    ids bigint[] := ARRAY(SELECT q.id FROM pawl.queue q WHERE q.id > clock_heal_queue.after ORDER BY q.id
                          LIMIT clock_heal_queue.max_rows);
BEGIN
    last := CASE WHEN cardinality(ids) >= max_rows THEN ids[cardinality(ids)] END;
    ids := ARRAY(SELECT q.id FROM pawl.queue q
                 WHERE q.id = ANY (ids) AND q.fence = 0 AND q.run_at > clock_heal_queue.t
                 FOR UPDATE SKIP LOCKED);
    UPDATE pawl.queue q SET run_at = n.run_at, stamped_at = clock_heal_queue.t
    FROM (SELECT s.id, s.old,
                 CASE WHEN s.named THEN greatest(s.due_at, clock_heal_queue.t)
                      ELSE clock_heal_queue.t + greatest(pawl.seconds(s.old - s.stamp), interval '0') END AS run_at
          FROM (SELECT w.id, w.run_at AS old, b.due_at, coalesce(w.stamped_at, b.created_at) AS stamp,
                       w.stamped_at IS NULL AND b.delayed IS NULL AND b.run_id IS NULL
                       AND b.due_at <> b.created_at AS named
                FROM unnest(ids) AS u(id)
                CROSS JOIN LATERAL (SELECT x.* FROM pawl.queue x WHERE x.id = u.id LIMIT 1) w
                CROSS JOIN LATERAL (SELECT y.* FROM pawl.body y WHERE y.id = u.id LIMIT 1) b) s
          WHERE s.stamp > clock_heal_queue.t AND (everything OR s.old <= s.stamp)) n
    WHERE q.id = n.id AND q.id = ANY (ids) AND n.run_at < n.old;
    GET DIAGNOSTICS changed = ROW_COUNT;
END
$$;

-- Leases of messages: none lasts longer from now on than it was given for. reap() examines such claims soon,
-- and sets their next check.
CREATE FUNCTION pawl.clock_heal_leases(
    t timestamptz, after bigint, max_rows bigint, OUT last bigint, OUT changed bigint)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    fences bigint[] := ARRAY(SELECT c.fence FROM pawl.claim c WHERE c.fence > clock_heal_leases.after
                             ORDER BY c.fence LIMIT clock_heal_leases.max_rows);
    ids    bigint[];
BEGIN
    last := CASE WHEN cardinality(fences) >= max_rows THEN fences[cardinality(fences)] END;
    fences := ARRAY(SELECT c.fence FROM pawl.claim c
                    WHERE c.fence = ANY (fences) AND c.check_at > clock_heal_leases.t
                    FOR UPDATE SKIP LOCKED);
    ids := ARRAY(SELECT r.id
                 FROM (SELECT c.fence, c.lease, unnest(c.ids) AS id FROM pawl.claim c
                       WHERE c.fence = ANY (fences)) u
                 CROSS JOIN LATERAL (
                     SELECT q.id FROM pawl.queue q
                     WHERE q.id = u.id AND q.fence = u.fence
                       AND q.lease_until > clock_heal_leases.t + coalesce(q.lease, u.lease)
                     LIMIT 1
                     FOR UPDATE SKIP LOCKED) r);
    UPDATE pawl.queue q
    SET lease_until = clock_heal_leases.t
                      + least(coalesce(q.lease, (SELECT c.lease FROM pawl.claim c WHERE c.fence = q.fence)),
                              interval '@LEASE_MOST@ milliseconds')
    WHERE q.id = ANY (ids);
    GET DIAGNOSTICS changed = ROW_COUNT;
    UPDATE pawl.claim c SET check_at = clock_heal_leases.t + interval '100 milliseconds'
    WHERE c.fence = ANY (fences) AND c.check_at > clock_heal_leases.t + interval '100 milliseconds';
END
$$;

-- Messages of the inbox that are marked as being processed: an hour at most. When an attempt was renewed is not
-- known.
CREATE FUNCTION pawl.clock_heal_inbox(
    t timestamptz, after bigint, max_rows bigint, OUT last bigint, OUT changed bigint)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    numbers bigint[] := ARRAY(SELECT i.number FROM pawl.inbox_record i
                              WHERE i.state IN (0, 1) AND i.number > clock_heal_inbox.after
                              ORDER BY i.number LIMIT clock_heal_inbox.max_rows);
BEGIN
    last := CASE WHEN cardinality(numbers) >= max_rows THEN numbers[cardinality(numbers)] END;
    numbers := ARRAY(SELECT i.number FROM pawl.inbox_record i
                     WHERE i.number = ANY (numbers) AND i.state = 1 AND i.lease_until > clock_heal_inbox.t
                       AND (i.last_seen > clock_heal_inbox.t
                            OR i.lease_until > clock_heal_inbox.t + interval '@LEASE_MOST@ milliseconds')
                     FOR UPDATE SKIP LOCKED);
    UPDATE pawl.inbox_record i
    SET lease_until = clock_heal_inbox.t
                      + least(greatest(pawl.seconds(i.lease_until - i.last_seen), interval '0'), interval '1 hour'),
        last_seen = least(i.last_seen, clock_heal_inbox.t)
    WHERE i.number = ANY (numbers);
    GET DIAGNOSTICS changed = ROW_COUNT;
END
$$;

-- Dead letters: those whose handler was never called are due, the others within an hour.
CREATE FUNCTION pawl.clock_heal_dead(
    t timestamptz, after bigint, max_rows bigint, OUT last bigint, OUT changed bigint)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    ids bigint[] := ARRAY(SELECT d.id FROM pawl.dead d WHERE d.id > clock_heal_dead.after ORDER BY d.id
                          LIMIT clock_heal_dead.max_rows);
BEGIN
    last := CASE WHEN cardinality(ids) >= max_rows THEN ids[cardinality(ids)] END;
    ids := ARRAY(SELECT d.id FROM pawl.dead d
                 WHERE d.id = ANY (ids)
                   AND d.run_at > clock_heal_dead.t + CASE WHEN d.calls = 0 THEN interval '0'
                                                           ELSE interval '1 hour' END
                 FOR UPDATE SKIP LOCKED);
    UPDATE pawl.dead d
    SET run_at = clock_heal_dead.t + CASE WHEN d.calls = 0 THEN interval '0' ELSE interval '1 hour' END
    WHERE d.id = ANY (ids);
    GET DIAGNOSTICS changed = ROW_COUNT;
END
$$;

-- One batch of a part. Sleepers are few: one batch is all.
CREATE FUNCTION pawl.clock_heal_part(
    part integer, t timestamptz, everything boolean, after bigint, max_rows bigint, OUT last bigint,
    OUT changed bigint)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
    CASE part
        WHEN 0 THEN SELECT h.last, h.changed INTO last, changed
                    FROM pawl.clock_heal_queue(t, everything, after, max_rows) h;
        WHEN 1 THEN SELECT h.last, h.changed INTO last, changed
                    FROM pawl.clock_heal_leases(t, after, max_rows) h;
        WHEN 2 THEN SELECT h.last, h.changed INTO last, changed
                    FROM pawl.clock_heal_inbox(t, after, max_rows) h;
        WHEN 3 THEN SELECT h.last, h.changed INTO last, changed
                    FROM pawl.clock_heal_dead(t, after, max_rows) h;
        ELSE
            UPDATE pawl.sleeper s SET seen_at = clock_heal_part.t
            WHERE s.id IN (SELECT f.id FROM pawl.sleeper f WHERE f.seen_at > clock_heal_part.t
                           LIMIT clock_heal_part.max_rows FOR UPDATE SKIP LOCKED);
            changed := 0;
    END CASE;
END
$$;

-- Called by every reap(). Notices that the clock is more than five minutes below the latest time that was
-- seen or that the newest message has, and then makes three passes, a minute apart. The first moves only
-- what was due at once: a clock that is behind for some seconds, instead of one that was ahead, must not make
-- timers run early. The third is for rows that were locked, or not committed, during the second. One caller at
-- a time; the others have nothing to do. Returns max_rows if there is more to do now, otherwise 0.
CREATE FUNCTION pawl.clock_watch_batch(max_rows bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    xid CONSTANT xid8 := pg_current_xact_id(); -- first, as in enqueue_batch
    t   CONSTANT timestamptz := pawl.clock();
    w         pawl.clock_watch;
    newest_id bigint;
    newest_at timestamptz;
    is_back   boolean;
    done      record;
BEGIN
    SELECT b.id, b.created_at INTO newest_id, newest_at FROM pawl.body b ORDER BY b.id DESC LIMIT 1;
    SELECT * INTO w FROM pawl.clock_watch;
    is_back := greatest(w.latest_time, CASE WHEN newest_id > w.seen_id THEN newest_at END)
               > t + interval '5 minutes';
    IF (NOT is_back AND w.back_since IS NULL AND w.latest_time > t - interval '10 seconds')
       OR (is_back AND t >= w.back_since AND t < w.back_since + w.pass * interval '1 minute')
       OR current_setting('transaction_isolation') <> 'read committed' THEN
        RETURN 0;
    END IF;
    SELECT * INTO w FROM pawl.clock_watch FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    w.latest_time := greatest(w.latest_time, t, CASE WHEN newest_id > w.seen_id THEN newest_at END);
    is_back := w.latest_time > t + interval '5 minutes';
    IF NOT is_back OR w.back_since IS NULL OR w.back_since > t THEN
        w.back_since := CASE WHEN is_back THEN t END;
        w.pass := 0;
        w.part := 0;
        w.after := 0;
    END IF;
    IF is_back AND t >= w.back_since + w.pass * interval '1 minute' THEN
        SELECT * INTO done FROM pawl.clock_heal_part(w.part, t, w.pass > 0, w.after, max_rows);
        IF done.changed > 0 THEN
            PERFORM pawl.wake();
        END IF;
        w.after := coalesce(done.last, 0);
        IF done.last IS NULL AND w.pass > 0 AND w.part < 4 THEN
            w.part := w.part + 1;
        ELSIF done.last IS NULL THEN
            w.part := 0;
            w.pass := w.pass + 1;
        END IF;
        IF w.pass > 2 THEN
            w.latest_time := t;
            w.seen_id := greatest(w.seen_id, newest_id);
            w.back_since := NULL;
            w.pass := 0;
        END IF;
    END IF;
    UPDATE pawl.clock_watch
    SET latest_time = w.latest_time, seen_id = w.seen_id, back_since = w.back_since, pass = w.pass,
        part = w.part, after = w.after;
    RETURN CASE WHEN w.part > 0 OR w.after > 0 THEN max_rows ELSE 0 END;
END
$$;

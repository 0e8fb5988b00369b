-- Recovery after the server's clock was ahead and has been corrected.

-- Moves every time that was written while the clock was ahead back, so that a message that was due in a minute
-- is still due in a minute. The newest stored time shows how far the clock was ahead. docs/internals/clock.md.
-- Returns 0, the offset, the number of held leases; then 1 if times were moved.
CREATE OR REPLACE FUNCTION pawl.clock_reset(force boolean DEFAULT false, dry_run boolean DEFAULT false)
RETURNS TABLE (what integer, ahead interval, leased bigint)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
    newest timestamptz;
    lead   interval;
BEGIN
    IF NOT clock_reset.dry_run THEN
        PERFORM FROM pawl.clock_watch FOR UPDATE; -- before the tables, as reap() does
        LOCK TABLE pawl.queue, pawl.claim, pawl.body, pawl.lease, pawl.inbox_record, pawl.job
            IN SHARE ROW EXCLUSIVE MODE;
    END IF;
    newest := greatest((SELECT max(b.created_at) FROM pawl.body b),
                       (SELECT max(o.finished_at) FROM pawl.outcome o),
                       (SELECT max(l.renewed_at) FROM pawl.lease l),
                       (SELECT max(i.last_seen) FROM pawl.inbox_record i),
                       (SELECT max(j.planned_at) FROM pawl.job j),
                       (SELECT max(r.created_at) FROM pawl.job_run r));
    -- Not age(), because the length of a month varies.
    lead := make_interval(secs => greatest(extract(epoch FROM newest - t), 0)::float8);
    what := 0;
    ahead := lead;
    leased := (SELECT count(*) FROM pawl.queue q WHERE q.fence <> 0 AND q.lease_until > t)
            + (SELECT count(*) FROM pawl.lease l WHERE l.released_at IS NULL AND l.expires_at > t)
            + (SELECT count(*) FROM pawl.inbox_record i WHERE i.state = @INBOX_PROCESSING@ AND i.lease_until > t);
    RETURN NEXT;
    IF clock_reset.dry_run OR lead <= interval '1 second' OR (leased > 0 AND NOT clock_reset.force) THEN
        RETURN;
    END IF;

    -- Due times that were set before the clock was ahead are correct. It is not known when a retry or a claim
    -- was written, so a retry becomes due now and a lease ends within an hour.
    UPDATE pawl.queue q
    SET run_at = CASE WHEN q.run_at <= t THEN q.run_at
                      WHEN q.run_at <> b.due_at THEN least(q.run_at - lead, t)
                      WHEN b.created_at > t THEN q.run_at - lead
                      ELSE q.run_at END,
        expires_at = CASE WHEN q.expires_at > t
                               AND (b.created_at > t OR q.expires_at IS DISTINCT FROM b.expires_at)
                          THEN q.expires_at - lead ELSE q.expires_at END,
        stamped_at = CASE WHEN q.stamped_at > t THEN q.stamped_at - lead ELSE q.stamped_at END,
        lease_until = CASE WHEN q.lease_until > t THEN least(q.lease_until - lead, t + interval '1 hour')
                           ELSE q.lease_until END
    FROM pawl.body b
    WHERE b.id = q.id AND (q.run_at > t OR q.lease_until > t OR q.expires_at > t);
    UPDATE pawl.outcome o
    SET finished_at = o.finished_at - lead,
        expires_at = CASE WHEN o.expires_at > t AND b.created_at > t THEN o.expires_at - lead
                          ELSE o.expires_at END
    FROM pawl.body b
    WHERE b.id = o.id AND o.finished_at > t;
    UPDATE pawl.body b
    SET created_at = b.created_at - lead,
        due_at = CASE WHEN b.due_at > t THEN b.due_at - lead ELSE b.due_at END,
        expires_at = CASE WHEN b.expires_at > t THEN b.expires_at - lead ELSE b.expires_at END
    WHERE b.created_at > t;
    UPDATE pawl.claim c SET check_at = least(c.check_at - lead, t + interval '1 hour') WHERE c.check_at > t;
    UPDATE pawl.dead d SET run_at = least(d.run_at - lead, t + interval '1 hour') WHERE d.run_at > t;
    UPDATE pawl.lease l
    SET taken_at = CASE WHEN l.taken_at > t THEN l.taken_at - lead ELSE l.taken_at END,
        renewed_at = l.renewed_at - lead,
        expires_at = l.expires_at - lead,
        released_at = CASE WHEN l.released_at > t THEN l.released_at - lead ELSE l.released_at END,
        forced_at = CASE WHEN l.forced_at > t THEN l.forced_at - lead ELSE l.forced_at END
    WHERE l.renewed_at > t;
    UPDATE pawl.inbox_record i
    SET first_seen = CASE WHEN i.first_seen > t THEN i.first_seen - lead ELSE i.first_seen END,
        last_seen = i.last_seen - lead,
        processed_at = CASE WHEN i.processed_at > t THEN i.processed_at - lead ELSE i.processed_at END,
        lease_until = CASE WHEN i.lease_until > t THEN i.lease_until - lead ELSE i.lease_until END,
        expires_at = CASE WHEN i.expires_at > newest THEN i.expires_at - lead ELSE i.expires_at END
    WHERE i.last_seen > t;
    UPDATE pawl.topic p SET paused_at = p.paused_at - lead WHERE p.paused_at > t;
    -- The scheduler plans again where planned_at is in the future.
    UPDATE pawl.job j
    SET created_at = CASE WHEN j.created_at > t THEN j.created_at - lead ELSE j.created_at END,
        updated_at = CASE WHEN j.updated_at > t THEN j.updated_at - lead ELSE j.updated_at END
    WHERE j.updated_at > t;
    -- Occurrences keep their times, which identify them.
    UPDATE pawl.job_run r
    SET created_at = CASE WHEN r.created_at > t THEN r.created_at - lead ELSE r.created_at END,
        started_at = CASE WHEN r.started_at > t THEN r.started_at - lead ELSE r.started_at END,
        claimed_at = CASE WHEN r.claimed_at > t THEN r.claimed_at - lead ELSE r.claimed_at END,
        ended_at = CASE WHEN r.ended_at > t THEN r.ended_at - lead ELSE r.ended_at END
    WHERE greatest(r.created_at, r.claimed_at, r.ended_at) > t;
    UPDATE pawl.clock_watch
    SET latest_time = t, back_since = NULL, pass = 0, part = 0, after = 0,
        seen_id = coalesce((SELECT max(b.id) FROM pawl.body b), 0);
    what := 1;
    RETURN NEXT;
END
$$;

-- Ready messages. A due time that the sender chose stays. A time that was stamped by a clock that was ahead is
-- moved: the message waits as long from now on as it was to wait then. Without `everything`, only messages that
-- were due at once are moved. t is a clock reading taken after the transaction had its id, so no claim cursor
-- is beyond it. Returns the last row examined, or NULL at the end of the table; `changed` is the number of
-- moved messages.
CREATE OR REPLACE FUNCTION pawl.clock_heal_queue(
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

-- Leases of messages: each is shortened to at most its full duration from now. reap() checks such claims soon
-- and sets their next check.
CREATE OR REPLACE FUNCTION pawl.clock_heal_leases(
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
                              interval '@LEASE_MAX@ milliseconds')
    WHERE q.id = ANY (ids);
    GET DIAGNOSTICS changed = ROW_COUNT;
    UPDATE pawl.claim c SET check_at = clock_heal_leases.t + interval '100 milliseconds'
    WHERE c.fence = ANY (fences) AND c.check_at > clock_heal_leases.t + interval '100 milliseconds';
END
$$;

-- Inbox records that are marked as processing: their leases end within an hour, because it is not known when an
-- attempt was last renewed.
CREATE OR REPLACE FUNCTION pawl.clock_heal_inbox(
    t timestamptz, after bigint, max_rows bigint, OUT last bigint, OUT changed bigint)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    numbers bigint[] := ARRAY(SELECT i.number FROM pawl.inbox_record i
                              WHERE i.state IN (@INBOX_UNFINISHED@) AND i.number > clock_heal_inbox.after
                              ORDER BY i.number LIMIT clock_heal_inbox.max_rows);
BEGIN
    last := CASE WHEN cardinality(numbers) >= max_rows THEN numbers[cardinality(numbers)] END;
    numbers := ARRAY(SELECT i.number FROM pawl.inbox_record i
                     WHERE i.number = ANY (numbers) AND i.state = @INBOX_PROCESSING@ AND i.lease_until > clock_heal_inbox.t
                       AND (i.last_seen > clock_heal_inbox.t
                            OR i.lease_until > clock_heal_inbox.t + interval '@LEASE_MAX@ milliseconds')
                     FOR UPDATE SKIP LOCKED);
    UPDATE pawl.inbox_record i
    SET lease_until = clock_heal_inbox.t
                      + least(greatest(pawl.seconds(i.lease_until - i.last_seen), interval '0'), interval '1 hour'),
        last_seen = least(i.last_seen, clock_heal_inbox.t)
    WHERE i.number = ANY (numbers);
    GET DIAGNOSTICS changed = ROW_COUNT;
END
$$;

-- Dead letters: those whose handler was never called become due now, the others within an hour.
CREATE OR REPLACE FUNCTION pawl.clock_heal_dead(
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

-- One batch of a part. There are few idle workers, so one batch covers them.
CREATE OR REPLACE FUNCTION pawl.clock_heal_part(
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
            UPDATE pawl.idle_worker s SET seen_at = clock_heal_part.t
            WHERE s.id IN (SELECT f.id FROM pawl.idle_worker f WHERE f.seen_at > clock_heal_part.t
                           LIMIT clock_heal_part.max_rows FOR UPDATE SKIP LOCKED);
            changed := 0;
    END CASE;
END
$$;

-- Called by every reap(). Detects that the clock is more than five minutes behind the latest time seen or the
-- newest message's time, and then makes three passes, a minute apart. The first pass moves only messages that
-- were due at once: if instead the clock is wrong now, being behind for some seconds, timers must not fire
-- early. The third pass covers rows that were locked or not committed during the second. One caller works at a
-- time; the others return at once. Returns max_rows if there is more work to do now, otherwise 0.
CREATE OR REPLACE FUNCTION pawl.clock_watch_batch(max_rows bigint) RETURNS bigint
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

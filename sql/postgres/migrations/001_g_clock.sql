-- After the server's clock was ahead and is right again.

-- Set back every time that was written while the clock was ahead, so that what was to happen in a minute
-- still happens in a minute. How far it was ahead is what the newest time that was stored says.
-- docs/internals/clock.md. Returns 0, by how much, how many leases are held; then 1 if it was done.
CREATE FUNCTION pawl.clock_reset(force boolean DEFAULT false, dry_run boolean DEFAULT false)
RETURNS TABLE (what integer, ahead interval, held bigint)
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
    -- Not age(): a month is not the same everywhere.
    lead := make_interval(secs => greatest(extract(epoch FROM newest - t), 0)::float8);
    what := 0;
    ahead := lead;
    held := (SELECT count(*) FROM pawl.queue q WHERE q.fence <> 0 AND q.lease_until > t)
            + (SELECT count(*) FROM pawl.lease l WHERE l.released_at IS NULL AND l.expires_at > t)
            + (SELECT count(*) FROM pawl.inbox_record i WHERE i.state = 1 AND i.lease_until > t);
    RETURN NEXT;
    IF clock_reset.dry_run OR lead <= interval '1 second' OR (held > 0 AND NOT clock_reset.force) THEN
        RETURN;
    END IF;

    -- A time for which a message was sent before the clock was ahead is right. When a retry or a claim was
    -- written is not known: a retry is due now, and a lease ends within an hour.
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
    -- What was planned is computed again by the scheduler: planned_at says that it lies ahead.
    UPDATE pawl.job j
    SET created_at = CASE WHEN j.created_at > t THEN j.created_at - lead ELSE j.created_at END,
        updated_at = CASE WHEN j.updated_at > t THEN j.updated_at - lead ELSE j.updated_at END
    WHERE j.updated_at > t;
    -- The times of occurrences stay: they are their names.
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

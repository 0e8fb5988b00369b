-- An administrator's hand: by work id, each returns how many changed and passes over the rest. They
-- wait for a row that a worker is just changing (in id order, so never in a circle): skipping it
-- would be a cancel that silently did not happen.
--
-- A message that is past its time to live reads as expired before maintenance has been there: to redrive
-- and to purge it is, and the same transaction ends it first.

-- Ready or in progress: ended at once. A holder's fence no longer matches anything.
CREATE FUNCTION pawl.cancel(ids bigint[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
    changed bigint;
    ended   bigint[]; -- the fences of those that were held
BEGIN
    PERFORM pawl.check_number('cancel: the number of ids', coalesce(cardinality(ids), 0), 0, @BATCH_MOST@, 'at most @BATCH_MOST@');
    WITH gone AS (
        DELETE FROM pawl.queue q WHERE q.id = ANY (ids)
        RETURNING q.id, q.lane_id, q.retries, q.last_error, q.progress, q.fence),
    ended AS (
        INSERT INTO pawl.outcome (id, state, finished_at, retries, error, progress)
        SELECT g.id, 5, t, g.retries, g.last_error, g.progress FROM gone g),
    counted AS (
        INSERT INTO pawl.tally_delta (lane_id, state, n)
        SELECT g.lane_id, 5, count(*) FROM gone g GROUP BY g.lane_id)
    SELECT count(*), array_agg(g.fence) FILTER (WHERE g.fence <> 0) INTO changed, ended FROM gone g;
    IF ended IS NOT NULL THEN
        PERFORM pawl.claims_ended(ended);
    END IF;
    RETURN changed;
END
$$;

-- Dead letters become ready again: attempts 0, due now, as long to live as the first time: in seconds,
-- because the difference of two times is in days, and a day has 23 hours when the clocks change.
CREATE FUNCTION pawl.redrive(ids bigint[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    xid CONSTANT xid8 := pg_current_xact_id();
    t   CONSTANT timestamptz := pawl.clock();
    changed bigint;
BEGIN
    PERFORM pawl.check_number('redrive: the number of ids', coalesce(cardinality(ids), 0), 0, @BATCH_MOST@, 'at most @BATCH_MOST@');
    PERFORM pawl.expire_ids(ids, t);
    WITH gone AS (
        DELETE FROM pawl.outcome o WHERE o.id = ANY (ids) AND o.state IN (3, 4, 5)
        RETURNING o.id, o.error),
    ready AS (
        INSERT INTO pawl.queue (id, lane_id, run_at, expires_at, lease, run_id, stamped_at, last_error)
        SELECT g.id, pawl.lane_for(b.topic, b.priority, coalesce(b.destination, ''), t), t,
               CASE WHEN isfinite(b.expires_at) AND isfinite(b.due_at)
                    THEN t + least(extract(epoch FROM b.expires_at - greatest(b.due_at, b.created_at)),
                                   @TTL_MOST@ / 1000) * interval '1 second' END,
               b.lease, b.run_id, t, g.error
        FROM gone g
        CROSS JOIN LATERAL (SELECT y.* FROM pawl.body y WHERE y.id = g.id LIMIT 1) b
        RETURNING lane_id, run_id),
    unburied AS (DELETE FROM pawl.dead d WHERE d.id IN (SELECT g.id FROM gone g)),
    resumed AS ( -- the jobs' runs are unfinished again
        UPDATE pawl.job_run h SET state = 0, ended_at = NULL, attempts = 0
        WHERE h.id = ANY (ARRAY(SELECT r.run_id FROM ready r WHERE r.run_id IS NOT NULL))
          AND h.state IN (3, 4, 5)),
    counted AS (
        INSERT INTO pawl.tally_delta (lane_id, state, n)
        SELECT r.lane_id, 0, count(*) FROM ready r GROUP BY r.lane_id)
    SELECT count(*) INTO changed FROM gone;
    IF changed > 0 THEN
        PERFORM pawl.wake();
    END IF;
    RETURN changed;
END
$$;

-- What waits for another attempt at a destination is due now, max_rows of it at most; and whoever
-- delivers learns by the lanes' new token that it is to try now. Returns how many became due.
CREATE FUNCTION pawl.wake_destination(destination text, max_rows bigint DEFAULT 10000) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    xid CONSTANT xid8 := pg_current_xact_id();
    t   CONSTANT timestamptz := pawl.clock();
    token   CONSTANT bigint := nextval('pawl.fence');
    lanes   bigint[];
    waiting bigint[];
BEGIN
    lanes := ARRAY(
        SELECT l.id FROM pawl.lane l
        WHERE l.destination = wake_destination.destination AND l.destination <> ''
        ORDER BY l.priority, l.id
        FOR UPDATE);
    UPDATE pawl.lane l SET woken = token WHERE l.id = ANY (lanes);
    waiting := ARRAY(
        SELECT r.id FROM unnest(lanes) AS lane(id)
        CROSS JOIN LATERAL (
            SELECT q.id FROM pawl.queue q
            WHERE q.lane_id = lane.id AND q.run_at > t AND q.fence = 0 AND q.retries + q.deferrals > 0
            ORDER BY q.run_at, q.id
            LIMIT max_rows
            FOR UPDATE SKIP LOCKED) r
        LIMIT max_rows);
    UPDATE pawl.queue q SET run_at = t, stamped_at = t WHERE q.id = ANY (waiting);
    PERFORM pawl.wake();
    RETURN cardinality(waiting);
END
$$;

-- Remove finished messages for good.
CREATE FUNCTION pawl.purge(ids bigint[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    gone bigint[];
BEGIN
    PERFORM pawl.check_number('purge: the number of ids', coalesce(cardinality(ids), 0), 0, @BATCH_MOST@, 'at most @BATCH_MOST@');
    PERFORM pawl.expire_ids(ids, pawl.clock());
    WITH o AS (DELETE FROM pawl.outcome o WHERE o.id = ANY (ids) RETURNING o.id)
    SELECT array_agg(o.id) INTO gone FROM o;
    DELETE FROM pawl.dead d WHERE d.id = ANY (gone);
    DELETE FROM pawl.body b WHERE b.id = ANY (gone);
    RETURN coalesce(cardinality(gone), 0);
END
$$;

-- Operator commands, by work id. Each returns the number of changed messages and ignores the others. They wait
-- for a row that a worker is changing (in id order, so they cannot deadlock): skipping it would be a cancel
-- that silently did not happen.
--
-- A message past its time to live reads as expired before maintenance has moved it. Retry and purge treat it as
-- expired, and expire it first in the same transaction.

-- Cancels messages that are ready or running. The holder's fence no longer matches any row.
CREATE OR REPLACE FUNCTION pawl.cancel(ids bigint[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
    changed bigint;
    ended   bigint[]; -- the fences of those that were claimed
BEGIN
    -- @include check_ids function=cancel
    WITH left_queue AS (
        DELETE FROM pawl.queue q WHERE q.id = ANY (ids)
        RETURNING q.id, q.lane_id, q.retries, q.last_error, q.progress, q.fence),
    -- @include end_cancelled
    SELECT count(*), array_agg(g.fence) FILTER (WHERE g.fence <> 0) INTO changed, ended FROM left_queue g;
    IF ended IS NOT NULL THEN
        PERFORM pawl.claims_ended(ended);
    END IF;
    RETURN changed;
END
$$;

-- Makes dead letters ready again: 0 attempts, due now, with the original time to live. The time to live is
-- computed in seconds, because the difference of two timestamps counts days, and a day has 23 hours when
-- daylight saving time starts.
CREATE OR REPLACE FUNCTION pawl.retry(ids bigint[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    xid CONSTANT xid8 := pg_current_xact_id();
    t   CONSTANT timestamptz := pawl.clock();
    changed bigint;
BEGIN
    -- @include check_ids function=retry
    PERFORM pawl.expire_ids(ids, t);
    WITH retried AS (
        DELETE FROM pawl.outcome o WHERE o.id = ANY (ids) AND o.state IN (@STATES_DEAD@)
        RETURNING o.id, o.error),
    ready AS (
        INSERT INTO pawl.queue (id, lane_id, run_at, expires_at, lease, run_id, stamped_at, last_error)
        SELECT g.id, pawl.lane_for(b.topic, b.priority, coalesce(b.destination, ''), t), t,
               CASE WHEN isfinite(b.expires_at) AND isfinite(b.due_at)
                    THEN t + least(extract(epoch FROM b.expires_at - greatest(b.due_at, b.created_at)),
                                   @TTL_MAX@ / 1000) * interval '1 second' END,
               b.lease, b.run_id, t, g.error
        FROM retried g
        CROSS JOIN LATERAL (SELECT y.* FROM pawl.body y WHERE y.id = g.id LIMIT 1) b
        RETURNING lane_id, run_id),
    unrecorded AS (DELETE FROM pawl.dead d WHERE d.id IN (SELECT g.id FROM retried g)),
    resumed AS ( -- the jobs' runs are unfinished again
        UPDATE pawl.job_run h SET state = @STATE_READY@, ended_at = NULL, attempts = 0
        WHERE h.id = ANY (ARRAY(SELECT r.run_id FROM ready r WHERE r.run_id IS NOT NULL))
          AND h.state IN (@STATES_DEAD@)),
    counted AS (
        INSERT INTO pawl.topic_stats_delta (lane_id, state, n)
        SELECT r.lane_id, @STATE_READY@, count(*) FROM ready r GROUP BY r.lane_id)
    SELECT count(*) INTO changed FROM retried;
    IF changed > 0 THEN
        PERFORM pawl.wake();
    END IF;
    RETURN changed;
END
$$;

-- Makes messages that wait for another attempt at a destination due now, max_rows at most. The lanes' new token
-- notifies deliverers to retry now. Returns the number of messages that became due. With error_prefix: only messages
-- whose last error begins with it; if there is none among those that are due next, nothing is changed.
CREATE OR REPLACE FUNCTION pawl.wake_destination(destination text, max_rows bigint DEFAULT 10000,
                                                 error_prefix text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql VOLATILE
-- @include ordered_index_plan
AS $$
#variable_conflict use_column
DECLARE
    xid CONSTANT xid8 := pg_current_xact_id();
    t   CONSTANT timestamptz := pawl.clock();
    token   CONSTANT bigint := nextval('pawl.fence');
    lanes   bigint[];
    waiting bigint[];
BEGIN
    IF error_prefix IS NOT NULL AND NOT EXISTS (
        SELECT FROM pawl.lane l
        CROSS JOIN LATERAL (SELECT q.last_error FROM pawl.queue q
                            WHERE q.lane_id = l.id AND q.run_at > t AND q.fence = 0
                            ORDER BY q.run_at, q.id LIMIT max_rows) r
        WHERE l.destination = wake_destination.destination AND l.destination <> ''
          AND starts_with(r.last_error, error_prefix)) THEN
        RETURN 0;
    END IF;
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
              AND (error_prefix IS NULL OR starts_with(q.last_error, error_prefix))
            ORDER BY q.run_at, q.id
            LIMIT max_rows
            FOR UPDATE SKIP LOCKED) r
        LIMIT max_rows);
    UPDATE pawl.queue q SET run_at = t, stamped_at = t WHERE q.id = ANY (waiting);
    PERFORM pawl.wake();
    RETURN cardinality(waiting);
END
$$;

-- Deletes finished messages.
CREATE OR REPLACE FUNCTION pawl.purge(ids bigint[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    purged bigint[];
BEGIN
    -- @include check_ids function=purge
    PERFORM pawl.expire_ids(ids, pawl.clock());
    WITH o AS (DELETE FROM pawl.outcome o WHERE o.id = ANY (ids) RETURNING o.id)
    SELECT array_agg(o.id) INTO purged FROM o;
    DELETE FROM pawl.dead d WHERE d.id = ANY (purged);
    DELETE FROM pawl.body b WHERE b.id = ANY (purged);
    RETURN coalesce(cardinality(purged), 0);
END
$$;

-- Read-only functions.

-- One message by its work id.
CREATE OR REPLACE FUNCTION pawl.get(id bigint) RETURNS SETOF pawl.message
LANGUAGE plpgsql VOLATILE
-- @include nested_ordered_index_plan
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
        -- @include message_columns row=m
        FROM pawl.message m WHERE m.id = get.id;
END
$$;

-- One message by its message id.
CREATE OR REPLACE FUNCTION pawl.find(message_id uuid) RETURNS SETOF pawl.message
LANGUAGE plpgsql VOLATILE
-- @include nested_ordered_index_plan
AS $$
#variable_conflict use_column
DECLARE
    found_id CONSTANT bigint := (SELECT b.id FROM pawl.body b WHERE b.message_id = find.message_id);
BEGIN
    RETURN QUERY
        -- @include message_columns row=m
        FROM pawl.message m WHERE m.id = found_id;
END
$$;

-- The common part of list_any, list_unfinished and list_dead, its only callers. Reads the messages of `seen` in
-- order until max_rows match.
CREATE OR REPLACE FUNCTION pawl.list_seen(
    seen bigint[], bounded boolean, states bigint, topic text, correlation_id text,
    created_before timestamptz, max_rows bigint, with_payload boolean)
RETURNS SETOF pawl.listed
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
        -- @include message_columns row=m before='m.matches, bounded' \
        --     payload='CASE WHEN with_payload THEN m.payload END' \
        --     output='CASE WHEN with_payload THEN m.output END'
        FROM unnest(seen) WITH ORDINALITY AS s(id, place)
        CROSS JOIN LATERAL (
            SELECT v.*,
                   ((1 << v.state) & states) <> 0
                   AND (list_seen.topic IS NULL OR v.topic = list_seen.topic)
                   AND (list_seen.correlation_id IS NULL
                        OR v.correlation_id IS NOT DISTINCT FROM list_seen.correlation_id)
                   AND (created_before IS NULL OR v.created_at < created_before) AS matches
            FROM pawl.message v WHERE v.id = s.id LIMIT 1) m
        WHERE m.matches OR s.place = cardinality(seen)
        ORDER BY s.place
        LIMIT max_rows;
END
$$;

-- All messages, newest first. Scans at most `scan` rows.
CREATE OR REPLACE FUNCTION pawl.list_any(
-- @include list_head
    seen CONSTANT bigint[] := ARRAY(
        SELECT s.id FROM pawl.body s WHERE s.id < list_any.before
        ORDER BY s.id DESC LIMIT list_any.scan);
-- @include list_end function=list_any

-- Messages that are not finished, newest first.
CREATE OR REPLACE FUNCTION pawl.list_unfinished(
-- @include list_head
    seen CONSTANT bigint[] := ARRAY(
        SELECT s.id FROM pawl.queue s WHERE s.id < list_unfinished.before
        ORDER BY s.id DESC LIMIT list_unfinished.scan);
-- @include list_end function=list_unfinished

-- Failed, expired and cancelled messages, newest first.
CREATE OR REPLACE FUNCTION pawl.list_dead(
-- @include list_head
    t CONSTANT timestamptz := pawl.clock();
    -- Includes messages past their time to live that maintenance has not moved yet. Where a worker runs there
    -- are few. If there are more than `scan`, all unfinished messages are scanned in id order.
    few CONSTANT bigint[] := ARRAY(
        SELECT q.id FROM pawl.queue q WHERE q.fence = 0 AND q.expires_at <= t LIMIT list_dead.scan);
    late CONSTANT bigint[] := CASE
        WHEN cardinality(few) < list_dead.scan THEN few
        ELSE ARRAY(SELECT q.id FROM pawl.queue q WHERE q.id < list_dead.before
                   ORDER BY q.id DESC LIMIT list_dead.scan) END;
    seen CONSTANT bigint[] := ARRAY(
        WITH ended AS MATERIALIZED (
            SELECT s.id FROM pawl.outcome s WHERE s.state IN (@STATES_DEAD@) AND s.id < list_dead.before
            ORDER BY s.id DESC LIMIT list_dead.scan)
        SELECT a.id FROM (SELECT e.id FROM ended e
                          UNION ALL
                          SELECT l.id FROM unnest(late) AS l(id) WHERE l.id < list_dead.before) a
        ORDER BY a.id DESC LIMIT list_dead.scan);
-- @include list_end function=list_dead

-- Destinations after `after` by name, `scan` at most. Returns the name; whether it has unfinished messages;
-- whether the scan ended at its limit; and the token of the last wake_destination(). The last scanned
-- destination is always returned, so that the next page can start there.
CREATE OR REPLACE FUNCTION pawl.destinations(after text DEFAULT '', scan bigint DEFAULT 1000)
RETURNS TABLE (name text, matches boolean, bounded boolean, woken bigint)
LANGUAGE plpgsql VOLATILE
-- @include ordered_index_plan
AS $$
#variable_conflict use_column
DECLARE
    seen text := destinations.after;
    left_over bigint := destinations.scan;
    found_any boolean;
BEGIN
    -- One index probe per name, however many lanes it has.
    WHILE left_over > 0 LOOP
        seen := (SELECT l.destination FROM pawl.lane l
                 WHERE l.destination > seen AND l.destination > ''
                 ORDER BY l.destination, l.priority, l.id LIMIT 1);
        EXIT WHEN seen IS NULL;
        left_over := left_over - 1;
        found_any := EXISTS (SELECT FROM pawl.lane l
                             CROSS JOIN LATERAL (SELECT FROM pawl.queue q WHERE q.lane_id = l.id LIMIT 1) r
                             WHERE l.destination = seen);
        IF found_any OR left_over = 0 THEN
            RETURN QUERY SELECT seen, found_any, left_over = 0,
                                (SELECT max(l.woken) FROM pawl.lane l WHERE l.destination = seen);
        END IF;
    END LOOP;
END
$$;

-- Message counts per topic: unfinished messages, counted up to `cap` per lane, and finished ones. A message
-- past its time to live counts as expired even before maintenance has moved it. For topics that reached the
-- cap, the estimate is the planner's row density times the size of the table, minus the exact counts, in equal
-- parts.
CREATE OR REPLACE FUNCTION pawl.stats(cap bigint DEFAULT 10000)
RETURNS TABLE (topic text, ready bigint, running bigint, at_least boolean, estimate bigint,
               done bigint, failed bigint, expired bigint, cancelled bigint, oldest_due_at timestamptz)
LANGUAGE plpgsql VOLATILE
-- @include ordered_index_plan
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
    whole CONSTANT bigint := (
        SELECT CASE WHEN c.reltuples > 0 AND c.relpages > 0
                    THEN c.reltuples / c.relpages
                         * (pg_relation_size(c.oid) / current_setting('block_size')::bigint)
                    ELSE 0 END
        FROM pg_class c WHERE c.oid = 'pawl.queue'::regclass);
BEGIN
    RETURN QUERY
        WITH depth AS MATERIALIZED (
            SELECT l.topic, d.seen, d.seen - d.late AS n, d.running, d.late, d.oldest
            FROM pawl.lane l
            CROSS JOIN LATERAL (
                SELECT count(*) AS seen, count(*) FILTER (WHERE r.fence <> 0) AS running,
                       count(*) FILTER (WHERE r.fence = 0 AND r.expires_at <= t) AS late,
                       min(r.run_at) FILTER (WHERE r.fence = 0 AND r.run_at <= t
                                                   AND (r.expires_at IS NULL OR r.expires_at > t)) AS oldest
                FROM (SELECT q.fence, q.run_at, q.expires_at FROM pawl.queue q
                      WHERE q.lane_id = l.id ORDER BY q.run_at, q.id LIMIT cap) r) d),
        topics AS MATERIALIZED (
            SELECT d.topic, sum(d.n)::bigint AS n, sum(d.running)::bigint AS running,
                   sum(d.late)::bigint AS late, max(d.seen) >= cap AS at_least, min(d.oldest) AS oldest
            FROM depth d GROUP BY d.topic),
        overdue AS ( -- failed messages past their time to live, which maintenance will expire
            SELECT b.topic, count(*) AS n
            FROM (SELECT o.id FROM pawl.outcome o WHERE o.state = @STATE_FAILED@ AND o.expires_at <= t LIMIT cap) o
            JOIN pawl.body b ON b.id = o.id GROUP BY b.topic),
        counts AS (
            SELECT a.topic, a.state, a.n FROM pawl.topic_stats a
            UNION ALL
            SELECT coalesce(e.topic, (SELECT l.topic FROM pawl.lane l WHERE l.id = e.lane_id)), e.state, e.n
            FROM (SELECT d.lane_id, d.topic, d.state, sum(d.n) AS n FROM pawl.topic_stats_delta d
                  GROUP BY d.lane_id, d.topic, d.state) e),
        ended AS MATERIALIZED (
            SELECT c.topic, sum(c.n) FILTER (WHERE c.state = @STATE_DONE@) AS done,
                   sum(c.n) FILTER (WHERE c.state = @STATE_FAILED@) AS failed,
                   sum(c.n) FILTER (WHERE c.state = @STATE_EXPIRED@) AS expired,
                   sum(c.n) FILTER (WHERE c.state = @STATE_CANCELLED@) AS cancelled
            FROM counts c GROUP BY c.topic),
        names AS (SELECT x.topic FROM topics x UNION SELECT x.topic FROM ended x
                  UNION SELECT x.topic FROM overdue x)
        SELECT i.topic, coalesce(p.n - p.running, 0), coalesce(p.running, 0), coalesce(p.at_least, false),
               coalesce(p.estimate, 0),
               coalesce(e.done, 0)::bigint, coalesce(e.failed, 0)::bigint,
               coalesce(e.expired, 0)::bigint + coalesce(p.late, 0) + coalesce(v.n, 0),
               coalesce(e.cancelled, 0)::bigint, p.oldest
        FROM names i
        LEFT JOIN (SELECT x.*,
                          CASE WHEN x.at_least
                               THEN greatest(x.n, (whole - (SELECT coalesce(sum(y.n), 0)::bigint
                                                            FROM topics y WHERE NOT y.at_least))
                                                  / (SELECT count(*) FROM topics y WHERE y.at_least))
                               ELSE x.n END AS estimate
                   FROM topics x) p ON p.topic = i.topic
        LEFT JOIN ended e ON e.topic = i.topic
        LEFT JOIN overdue v ON v.topic = i.topic
        ORDER BY i.topic;
END
$$;

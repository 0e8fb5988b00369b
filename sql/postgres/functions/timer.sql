-- Timers: messages with a due time. These functions are specific to timers; everything else is the queue's.

-- Unclaimed messages by due time: the message's columns, whether it is a timer that matches (the last scanned
-- row is always returned, so that the next page can start there), and whether the scan ended at its limit. One
-- index range per requested lane, at most `scan` rows each.
CREATE OR REPLACE FUNCTION pawl.timer_pending(
    topic          text        DEFAULT NULL,
    destination    text        DEFAULT NULL,
    correlation_id text        DEFAULT NULL,
    after_due      timestamptz DEFAULT NULL, -- with after_id: only later rows
    after_id       bigint      DEFAULT 0,
    due_before     timestamptz DEFAULT NULL,
    max_rows       bigint      DEFAULT 100,
    scan           bigint      DEFAULT 10000,
    with_payload   boolean     DEFAULT false)
RETURNS SETOF pawl.listed
LANGUAGE plpgsql VOLATILE
-- @include nested_ordered_index_plan
AS $$
#variable_conflict use_column
DECLARE
    lanes CONSTANT bigint[] := CASE
        WHEN timer_pending.topic IS NULL THEN ARRAY(SELECT l.id FROM pawl.lane l)
        ELSE ARRAY(SELECT l.id FROM pawl.lane l WHERE l.topic = timer_pending.topic) END;
    since   CONSTANT timestamptz := coalesce(after_due, '-infinity');
    until   CONSTANT timestamptz := coalesce(due_before, 'infinity');
BEGIN
    -- One statement, and therefore one snapshot: rows that were found still exist when they are read.
    RETURN QUERY
        WITH seen AS MATERIALIZED (
            SELECT w.id, w.run_at
            FROM unnest(lanes) AS l(id)
            CROSS JOIN LATERAL (
                SELECT q.id, q.run_at FROM pawl.queue q
                WHERE q.lane_id = l.id AND (q.run_at, q.id) > (since, after_id)
                  AND q.run_at < until AND q.fence = 0
                ORDER BY q.run_at, q.id LIMIT timer_pending.scan) w
            ORDER BY w.run_at, w.id
            LIMIT timer_pending.scan),
        counted AS MATERIALIZED (SELECT count(*) AS n FROM seen),
        placed AS MATERIALIZED (
            SELECT s.id, row_number() OVER (ORDER BY s.run_at, s.id) AS place FROM seen s)
        -- @include message_columns row=m before='m.matches, (SELECT c.n FROM counted c) = timer_pending.scan' \
        --     payload='CASE WHEN with_payload THEN m.payload END'
        FROM placed p
        CROSS JOIN LATERAL (
            SELECT v.*,
                   (v.due_at > v.created_at OR (v.due_at < v.created_at AND v.run_id IS NULL))
                   AND (timer_pending.destination IS NULL
                        OR v.destination IS NOT DISTINCT FROM timer_pending.destination)
                   AND (timer_pending.correlation_id IS NULL
                        OR v.correlation_id IS NOT DISTINCT FROM timer_pending.correlation_id)
                   AS matches
            FROM pawl.message v WHERE v.id = p.id LIMIT 1) m
        WHERE m.matches OR p.place = (SELECT c.n FROM counted c)
        ORDER BY p.place
        LIMIT max_rows;
END
$$;

-- The number of timers that are not claimed, and whether counting stopped after `scan` messages.
CREATE OR REPLACE FUNCTION pawl.timer_count(
    topic          text        DEFAULT NULL,
    destination    text        DEFAULT NULL,
    correlation_id text        DEFAULT NULL,
    after_due      timestamptz DEFAULT NULL,
    after_id       bigint      DEFAULT 0,
    due_before     timestamptz DEFAULT NULL,
    scan           bigint      DEFAULT 10000)
RETURNS TABLE (n bigint, at_least boolean)
LANGUAGE plpgsql VOLATILE
-- @include nested_ordered_index_plan
AS $$
#variable_conflict use_column
DECLARE
    lanes CONSTANT bigint[] := CASE
        WHEN timer_count.topic IS NULL THEN ARRAY(SELECT l.id FROM pawl.lane l)
        ELSE ARRAY(SELECT l.id FROM pawl.lane l WHERE l.topic = timer_count.topic) END;
    since   CONSTANT timestamptz := coalesce(after_due, '-infinity');
    until   CONSTANT timestamptz := coalesce(due_before, 'infinity');
BEGIN
    RETURN QUERY
        SELECT count(*) FILTER (
                   WHERE (b.due_at > b.created_at OR (b.due_at < b.created_at AND b.run_id IS NULL))
                     AND (timer_count.destination IS NULL
                          OR b.destination IS NOT DISTINCT FROM timer_count.destination)
                     AND (timer_count.correlation_id IS NULL
                          OR b.correlation_id IS NOT DISTINCT FROM timer_count.correlation_id)),
               count(*) = timer_count.scan
        FROM (SELECT w.id
              FROM unnest(lanes) AS l(id)
              CROSS JOIN LATERAL (
                  SELECT q.id FROM pawl.queue q
                  WHERE q.lane_id = l.id AND (q.run_at, q.id) > (since, after_id)
                    AND q.run_at < until AND q.fence = 0
                  ORDER BY q.run_at, q.id) w
              LIMIT timer_count.scan) s
        CROSS JOIN LATERAL (SELECT y.* FROM pawl.body y WHERE y.id = s.id LIMIT 1) b;
END
$$;

-- Cancels timers that are not claimed, due or not; returns their number. Waits for a row that a worker is
-- claiming, and then leaves it to the worker.
CREATE OR REPLACE FUNCTION pawl.unschedule(message_ids uuid[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    t   CONSTANT timestamptz := pawl.clock();
    ids CONSTANT bigint[] := ARRAY(
        SELECT b.id FROM unnest(message_ids) AS m(id)
        CROSS JOIN LATERAL (SELECT y.id FROM pawl.body y WHERE y.message_id = m.id LIMIT 1) b);
    changed bigint;
BEGIN
    PERFORM pawl.check_number('unschedule: the number of ids', coalesce(cardinality(message_ids), 0), 0, @BATCH_MAX@, 'at most @BATCH_MAX@');
    WITH left_queue AS (
        DELETE FROM pawl.queue q WHERE q.id = ANY (ids) AND q.fence = 0
        RETURNING q.id, q.lane_id, q.retries, q.last_error, q.progress),
    -- @include end_cancelled
    SELECT count(*) INTO changed FROM left_queue;
    RETURN changed;
END
$$;

-- ---- for psql and any language ----

-- Pending timers by due time; one that is being retried is ordered by its next attempt.
CREATE OR REPLACE FUNCTION pawl.pending(
    topic          text        DEFAULT NULL,
    destination    text        DEFAULT NULL,
    correlation_id text        DEFAULT NULL,
    due_from       timestamptz DEFAULT NULL,
    due_before     timestamptz DEFAULT NULL,
    max_rows       bigint      DEFAULT 100)
RETURNS SETOF pawl.timer
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
        SELECT t.id, t.message_id, t.topic, t.payload, t.created_at, t.due_time, t.status, t.locked_until,
               t.owner_token, t.claimed_by, t.retry_count, t.last_error, t.processed_at, t.processed_by,
               t.correlation_id, t.destination, t.headers, t.priority, t.ordering_key, t.unique_key, t.tags
        FROM pawl.timer_pending(
                 topic => pending.topic, destination => pending.destination,
                 correlation_id => pending.correlation_id,
                 after_due => pending.due_from, due_before => pending.due_before,
                 max_rows => pending.max_rows, with_payload => false) WITH ORDINALITY p
        CROSS JOIN LATERAL (SELECT v.* FROM pawl.timer v WHERE v.id = p.id) t
        WHERE p.matches
        ORDER BY p.ordinality;
END
$$;

-- Enqueues a timer. Returns the message id and the stored due time, which is that of the first call if the id
-- existed. Give due_at or delay; a time in the past, or neither, means due at once.
CREATE OR REPLACE FUNCTION pawl.schedule(
    topic text, payload bytea,
    -- @include timer_options
    )
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_variable
BEGIN
    id := pawl.enqueue(
        topic => topic, payload => payload, message_id => message_id, due_at => due_at,
        delay => delay, priority => priority, correlation_id => correlation_id,
        destination => destination, headers => headers, ordering_key => ordering_key,
        unique_key => unique_key, tags => tags);
    due := (SELECT b.due_at FROM pawl.body b WHERE b.message_id = schedule.id);
END
$$;

-- The payload as text, stored as UTF-8. Quoted literals resolve to this overload.
CREATE OR REPLACE FUNCTION pawl.schedule(
    topic text, payload text,
    -- @include timer_options
    )
-- @include schedule_bytes payload=payload

-- The payload as jsonb, stored as its text.
CREATE OR REPLACE FUNCTION pawl.schedule(
    topic text, payload jsonb,
    -- @include timer_options
    )
-- @include schedule_bytes payload=payload::text

-- Idle workers, and waking them. docs/internals/wake-ups.md explains why no wake-up is lost.

-- Called by every function that makes a message ready, after it has its transaction id. NOTIFY takes a lock
-- that all notifying commits of the server share, so it is sent only if a worker is idle.
--
-- A transaction above READ COMMITTED may read with a snapshot older than its id and would miss workers that
-- became idle since; it always notifies. A transaction that notifies cannot be PREPAREd. Applications that need
-- two-phase commit SET LOCAL pawl.notify = off, and workers find the message at their next poll.
CREATE OR REPLACE FUNCTION pawl.wake() RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF current_setting('transaction_isolation') = 'read committed'
       AND NOT EXISTS (SELECT FROM pawl.idle_worker s
                       WHERE s.seen_at > pawl.clock() - interval '90 seconds')
    THEN
        RETURN false;
    END IF;
    IF coalesce(current_setting(replace('pawl.notify', '"', ''), true), 'on') = 'off' THEN
        RETURN false;
    END IF;
    PERFORM pg_notify(replace('pawl.wake', '"', ''), '');
    RETURN true;
END
$$;

-- Registers an idle worker, and again every half minute. The notification is for this worker itself: only its
-- arrival proves that others would arrive. present = false: only notify. Rows of dead workers are removed,
-- except rows that another session has locked.
CREATE OR REPLACE FUNCTION pawl.idle(idle_worker uuid, present boolean) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
BEGIN
    IF present THEN
        INSERT INTO pawl.idle_worker (id, seen_at) VALUES (idle.idle_worker, t)
        ON CONFLICT (id) DO UPDATE SET seen_at = t;
        DELETE FROM pawl.idle_worker d
        WHERE d.id IN (SELECT s.id FROM pawl.idle_worker s
                       WHERE s.seen_at < t - interval '90 seconds'
                       LIMIT 100 FOR UPDATE SKIP LOCKED);
    END IF;
    PERFORM pg_notify(replace('pawl.wake', '"', ''), idle.idle_worker::text);
    RETURN present;
END
$$;

CREATE OR REPLACE FUNCTION pawl.busy(idle_worker uuid) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
    DELETE FROM pawl.idle_worker s WHERE s.id = busy.idle_worker;
    RETURN FOUND;
END
$$;

-- Whether all transactions with an id below `epoch` have ended. NULL: starts an epoch.
CREATE OR REPLACE FUNCTION pawl.snapshot_passed(epoch bigint DEFAULT NULL) RETURNS TABLE (since bigint, passed boolean)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    chosen CONSTANT bigint := coalesce(epoch, pg_current_xact_id()::text::bigint);
BEGIN
    RETURN QUERY
        SELECT chosen, pg_snapshot_xmin(pg_current_snapshot())::text::bigint >= chosen;
END
$$;

-- The clock, and the earliest later time at which a message becomes ready: one of the topics (NULL: all) for a
-- local handler, one for the destinations, or, with `others`, one for any other destination. Paused topics do
-- not count; resuming a topic wakes workers.
CREATE OR REPLACE FUNCTION pawl.next_due(
    topics text[] DEFAULT NULL, destinations text[] DEFAULT NULL, others boolean DEFAULT false)
RETURNS TABLE (at timestamptz, due timestamptz)
LANGUAGE plpgsql VOLATILE
-- @include ordered_index_plan
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
    first_due timestamptz;
BEGIN
    IF destinations IS NOT NULL THEN
        -- @include first_due
        WHERE l.destination > '' AND (l.destination = ANY (destinations)) <> coalesce(others, false)
          AND NOT coalesce(l.paused, pawl.topic_paused(l.topic));
    ELSIF topics IS NULL THEN
        -- @include first_due
        WHERE l.destination = ''
          AND NOT coalesce(l.paused, pawl.topic_paused(l.topic));
    ELSE
        -- @include first_due
        WHERE l.topic = ANY (topics) AND l.destination = ''
          AND NOT coalesce(l.paused, pawl.topic_paused(l.topic));
    END IF;
    RETURN QUERY SELECT t, first_due;
END
$$;

-- Topics with a due message for local handlers that are not paused: one index probe per lane. The worker uses
-- it to warn about topics without a handler.
CREATE OR REPLACE FUNCTION pawl.topics_due(max_rows bigint DEFAULT 1000)
RETURNS TABLE (topic text)
LANGUAGE plpgsql VOLATILE
-- @include ordered_index_plan
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
BEGIN
    RETURN QUERY
        SELECT DISTINCT l.topic
        FROM pawl.lane l
        CROSS JOIN LATERAL (SELECT FROM pawl.queue q
                            WHERE q.lane_id = l.id AND q.run_at <= t AND q.fence = 0
                              AND (q.expires_at IS NULL OR q.expires_at > t)
                            ORDER BY q.run_at, q.id LIMIT 1) d
        WHERE l.destination = '' AND NOT coalesce(l.paused, pawl.topic_paused(l.topic))
        LIMIT max_rows;
END
$$;

-- Topic settings.

-- Claims check lane.paused, which costs them nothing. A new lane has NULL there: the transaction that adds it
-- cannot see another transaction that is pausing the topic, nor can that one see the lane. Until
-- compact_stats() has cached the state, claims call this function. Pausing, resuming and compact_stats()
-- exclude each other, so each sees the result of the previous one.
CREATE OR REPLACE FUNCTION pawl.topic_paused(topic text) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM pawl.topic p
                   WHERE p.name = topic_paused.topic AND p.paused_at IS NOT NULL);
END
$$;

CREATE OR REPLACE FUNCTION pawl.lanes_read_pause() RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    changed bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM pawl.lane l WHERE l.paused IS NULL) THEN
        RETURN 0;
    END IF;
    PERFORM FROM pawl.mutex x WHERE x.name = 'topics' FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    UPDATE pawl.lane l SET paused = pawl.topic_paused(l.topic) WHERE l.paused IS NULL;
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END
$$;

-- Pauses a topic: claims that begin after this is committed skip its messages, also those in lanes that are
-- added later. Running messages continue. Returns whether the topic was not paused before.
CREATE OR REPLACE FUNCTION pawl.topic_pause(topic text) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
    IF coalesce(char_length(topic_pause.topic), 0) NOT BETWEEN @TOPIC_MIN@ AND @TOPIC_MAX@ THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = 'topic_pause: topic must have @TOPIC_RANGE@';
    END IF;
    PERFORM FROM pawl.mutex x WHERE x.name = 'topics' FOR UPDATE;
    INSERT INTO pawl.topic AS p (name, paused_at) VALUES (topic_pause.topic, pawl.clock())
    ON CONFLICT (name) DO UPDATE SET paused_at = excluded.paused_at WHERE p.paused_at IS NULL;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE pawl.lane l SET paused = true WHERE l.topic = topic_pause.topic;
    RETURN true;
END
$$;

-- Resumes a topic. Its messages keep their times; no cursor has moved past them, because no claim scanned them.
CREATE OR REPLACE FUNCTION pawl.topic_resume(topic text) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    xid CONSTANT xid8 := pg_current_xact_id();
BEGIN
    PERFORM FROM pawl.mutex x WHERE x.name = 'topics' FOR UPDATE;
    UPDATE pawl.topic p SET paused_at = NULL
    WHERE p.name = topic_resume.topic AND p.paused_at IS NOT NULL;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    DELETE FROM pawl.topic p WHERE p.name = topic_resume.topic AND NOT p.dead AND p.paused_at IS NULL;
    UPDATE pawl.lane l SET paused = false WHERE l.topic = topic_resume.topic;
    PERFORM pawl.wake();
    RETURN true;
END
$$;

-- Sets whether the dead letters of a topic, or of all topics (name ''), are recorded for a handler. Returns
-- whether that is a change.
CREATE OR REPLACE FUNCTION pawl.topic_dead(topic text, wanted boolean DEFAULT true) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    changed boolean;
BEGIN
    IF (char_length(topic_dead.topic) <= @TOPIC_MAX@) IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = 'topic_dead: topic must have @TOPIC_RANGE@, or none for all topics';
    END IF;
    IF wanted THEN
        INSERT INTO pawl.topic AS p (name, dead) VALUES (topic_dead.topic, true)
        ON CONFLICT (name) DO UPDATE SET dead = true WHERE NOT p.dead;
        RETURN FOUND;
    END IF;
    UPDATE pawl.topic p SET dead = false WHERE p.name = topic_dead.topic AND p.dead;
    changed := FOUND;
    DELETE FROM pawl.topic p WHERE p.name = topic_dead.topic AND NOT p.dead AND p.paused_at IS NULL;
    RETURN changed;
END
$$;

-- Every topic that has messages, counts or a setting.
CREATE OR REPLACE FUNCTION pawl.topic_list() RETURNS TABLE (topic text, paused_at timestamptz, dead boolean)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
        SELECT n.name, p.paused_at,
               EXISTS (SELECT FROM pawl.topic d WHERE d.dead AND d.name IN ('', n.name))
        FROM (SELECT l.topic AS name FROM pawl.lane l
              UNION SELECT a.topic FROM pawl.topic_stats a
              UNION SELECT o.name FROM pawl.topic o WHERE o.name <> '') n
        LEFT JOIN pawl.topic p ON p.name = n.name
        ORDER BY n.name COLLATE "C";
END
$$;

CREATE OR REPLACE FUNCTION pawl.dead_claim(
    owner    uuid,
    lease    interval DEFAULT interval '@LEASE_DEFAULT@ milliseconds',
    max_rows bigint   DEFAULT 1,
    topics   text[]   DEFAULT NULL) -- NULL: all
RETURNS SETOF pawl.dead_claimed
LANGUAGE plpgsql VOLATILE
-- @include ordered_index_plan
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
    taken bigint[];
    token bigint;
BEGIN
    IF dead_claim.owner IS NULL OR dead_claim.owner = '00000000-0000-0000-0000-000000000000' THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = 'dead_claim: owner must not be NULL or zero';
    END IF;
    PERFORM pawl.check_span('dead_claim: lease', dead_claim.lease, @LEASE_MIN@, @LEASE_MAX@, '@LEASE_RANGE@');
    PERFORM pawl.check_number('dead_claim: max_rows', max_rows, 1, @BATCH_MAX@, '@BATCH_RANGE@');
    taken := ARRAY(
        SELECT d.id FROM pawl.dead d
        WHERE d.run_at <= t
          AND (topics IS NULL
               OR (SELECT b.topic FROM pawl.body b WHERE b.id = d.id LIMIT 1) = ANY (topics))
        ORDER BY d.run_at LIMIT max_rows
        FOR UPDATE SKIP LOCKED);
    IF cardinality(taken) = 0 THEN
        RETURN;
    END IF;
    token := nextval('pawl.fence');
    UPDATE pawl.dead d
    SET owner = dead_claim.owner, fence = token, calls = d.calls + 1, run_at = t + dead_claim.lease
    WHERE d.id = ANY (taken);
    RETURN QUERY
        -- @include message_columns row=m before=d.calls fence=d.fence owner=d.owner claimed_by=NULL::text lease_until=d.run_at \
        --     next_attempt_at=NULL::timestamptz
        FROM pawl.dead d
        CROSS JOIN LATERAL (SELECT v.* FROM pawl.message v WHERE v.id = d.id LIMIT 1) m
        WHERE d.id = ANY (taken)
        ORDER BY d.id;
END
$$;

-- The handler succeeded: remove the records.
CREATE OR REPLACE FUNCTION pawl.dead_done(owner uuid, ids bigint[], fences bigint[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    changed bigint;
    done_ids    bigint[];
    done_fences bigint[];
BEGIN
    -- @include check_ids function=dead_done
    WITH done AS (
        DELETE FROM pawl.dead d
        -- @include held_under function=dead_done row=d
        RETURNING d.id, d.fence)
    SELECT count(*), array_agg(g.id), array_agg(g.fence) INTO changed, done_ids, done_fences FROM done g;
    -- @include leave_which ids=done_ids fences=done_fences
    RETURN changed;
END
$$;

-- The handler failed: it is called again after `delay`, or min(base * 2^(calls - 1), max).
CREATE OR REPLACE FUNCTION pawl.dead_abandon(
    owner uuid, ids bigint[], fences bigint[],
    error text     DEFAULT NULL,
    delay interval DEFAULT NULL,
    base  interval DEFAULT interval '@BACKOFF_LOCAL_BASE@ milliseconds',
    most  interval DEFAULT interval '@BACKOFF_LOCAL_MOST@ milliseconds')
RETURNS bigint
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
    held_ids bigint[];
    ended   bigint[]; -- their fences
BEGIN
    -- @include check_ids function=dead_abandon
    IF dead_abandon.delay IS NOT NULL THEN
        PERFORM pawl.check_span('dead_abandon: delay', dead_abandon.delay, @DELAY_MIN@, @DELAY_MAX@, '@DELAY_RANGE@');
    END IF;
    PERFORM pawl.check_span('dead_abandon: base', dead_abandon.base, @BACKOFF_MIN@, @BACKOFF_MAX@, '@BACKOFF_RANGE@');
    PERFORM pawl.check_span('dead_abandon: most', dead_abandon.most, @BACKOFF_MIN@, @BACKOFF_MAX@, '@BACKOFF_RANGE@');
    -- @include lock_held function=dead_abandon table=dead
    UPDATE pawl.dead d
    SET run_at = t + coalesce(dead_abandon.delay,
                              pawl.backoff(dead_abandon.base, dead_abandon.most, d.calls - 1)),
        owner = '00000000-0000-0000-0000-000000000000', fence = 0,
        error = coalesce(pawl.cut_text(dead_abandon.error), d.error)
    WHERE d.id = ANY (held_ids);
    RETURN cardinality(held_ids);
END
$$;

-- Extends the lease of a running handler's call.
CREATE OR REPLACE FUNCTION pawl.dead_renew(
    owner uuid, ids bigint[], fences bigint[], lease interval DEFAULT interval '@LEASE_DEFAULT@ milliseconds')
RETURNS bigint
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
    changed bigint;
    held_ids    bigint[];
    held_fences bigint[];
BEGIN
    -- @include check_ids function=dead_renew
    PERFORM pawl.check_span('dead_renew: lease', dead_renew.lease, @LEASE_MIN@, @LEASE_MAX@, '@LEASE_RANGE@');
    UPDATE pawl.dead d SET run_at = t + dead_renew.lease
    -- @include held_under function=dead_renew row=d
    ;
    GET DIAGNOSTICS changed = ROW_COUNT;
    -- @include find_renewed function=dead_renew table=dead
    RETURN changed;
END
$$;

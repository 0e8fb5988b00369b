-- The six answers to a claim. Each takes an owner and pairs of work id and fence, changes only what
-- that owner still holds under that fence, and returns how many changed.
--
-- "id = ANY (ids)" walks the primary key in id order, so that two calls that meet on the same rows
-- wait for each other instead of deadlocking. The pairs are checked by a hash table built once:
-- "IS TRUE" keeps the planner from turning it into a join.

-- A claim's row goes with the last message that it took. `ended` has the fence of each message that its
-- holder has lost just now, one for each: when they are as many as the claim took, nothing is left of it.
-- Otherwise the messages that it took are looked for, the last one first: messages mostly end in the order
-- in which they were claimed, so that this answers for almost every message of a batch that is finished one
-- by one.
--
-- Never waits. Two transactions that end the last two messages of a claim at the same time each see
-- the other's as held, and a row that reap() has locked is passed over: then reap() removes it, when its
-- check comes up. (The subqueries refer to the claim in FROM and have a LIMIT, which keeps the planner from
-- reading the whole queue for them.)
CREATE OR REPLACE FUNCTION pawl.claims_ended(ended bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    DELETE FROM pawl.claim d
    WHERE d.fence = ANY (ARRAY(
        SELECT c.fence FROM pawl.claim c
        WHERE c.fence = ANY (ended)
          AND (cardinality(c.ids) = (SELECT count(*) FROM unnest(ended) AS e(fence) WHERE e.fence = c.fence)
               OR (NOT EXISTS (SELECT FROM (SELECT c.ids[cardinality(c.ids)] AS id) u
                               CROSS JOIN LATERAL (SELECT FROM pawl.queue q
                                                   WHERE q.id = u.id AND q.fence = c.fence LIMIT 1) r)
                   AND NOT EXISTS (SELECT FROM unnest(c.ids) AS u(id)
                                   CROSS JOIN LATERAL (SELECT FROM pawl.queue q
                                                       WHERE q.id = u.id AND q.fence = c.fence LIMIT 1) r)))
        FOR UPDATE SKIP LOCKED));
END
$$;

-- Done: the queue row goes, an outcome row comes.
CREATE OR REPLACE FUNCTION pawl.ack(owner uuid, ids bigint[], fences bigint[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
    my_name text; -- NULL: they are of several claims
    changed bigint;
    ended   bigint[]; -- the fences of those that changed
BEGIN
    PERFORM pawl.check_number('ack: the number of ids', coalesce(cardinality(ids), 0), 0, @BATCH_MOST@, 'at most @BATCH_MOST@');
    IF fences[1] = ALL (fences) THEN
        SELECT c.owner_name INTO my_name FROM pawl.claim c WHERE c.fence = fences[1];
    END IF;
    WITH gone AS (
        DELETE FROM pawl.queue q
        WHERE q.id = ANY (ids) AND q.owner = ack.owner AND q.fence <> 0
          AND ((q.id, q.fence) IN (SELECT h.id, h.fence FROM unnest(ids, fences) AS h(id, fence))) IS TRUE
        RETURNING q.id, q.lane_id, q.retries, q.fence, q.progress),
    ended AS (
        INSERT INTO pawl.outcome (id, state, finished_at, retries, processed_by, progress)
        SELECT g.id, 2, t, g.retries,
               coalesce(my_name, (SELECT c.owner_name FROM pawl.claim c WHERE c.fence = g.fence)),
               g.progress
        FROM gone g),
    counted AS (
        INSERT INTO pawl.tally_delta (lane_id, state, n)
        SELECT g.lane_id, 2, count(*) FROM gone g GROUP BY g.lane_id)
    SELECT count(*), array_agg(g.fence) INTO changed, ended FROM gone g;
    IF changed > 0 THEN
        PERFORM pawl.claims_ended(ended);
    END IF;
    RETURN changed;
END
$$;

-- The same with what the handlers left, kept with the outcome: NULL for nothing. One at a time: few have
-- something to leave.
CREATE OR REPLACE FUNCTION pawl.ack_output(owner uuid, ids bigint[], fences bigint[], outputs bytea[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
    one     bigint;
    changed bigint := 0;
    ended   bigint[] := '{}'; -- the fences of those that changed
BEGIN
    PERFORM pawl.check_number('ack_output: the number of ids', coalesce(cardinality(ids), 0), 0, @BATCH_MOST@, 'at most @BATCH_MOST@');
    IF EXISTS (SELECT FROM unnest(outputs) AS o(bytes) WHERE octet_length(o.bytes) > @OUTPUT_MOST@) THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = 'ack_output: each output must have @OUTPUT_WORDS@', HINT = 'Nothing was changed.';
    END IF;
    FOR i IN 1 .. coalesce(cardinality(ids), 0) LOOP
        WITH gone AS (
            DELETE FROM pawl.queue q
            WHERE q.id = ids[i] AND q.fence = fences[i] AND q.owner = ack_output.owner AND q.fence <> 0
            RETURNING q.id, q.lane_id, q.retries, q.fence, q.progress),
        ended AS (
            INSERT INTO pawl.outcome (id, state, finished_at, retries, processed_by, progress, output)
            SELECT g.id, 2, t, g.retries, (SELECT c.owner_name FROM pawl.claim c WHERE c.fence = g.fence),
                   g.progress, outputs[i]
            FROM gone g),
        counted AS (
            INSERT INTO pawl.tally_delta (lane_id, state, n) SELECT g.lane_id, 2, 1 FROM gone g)
        SELECT count(*) INTO one FROM gone;
        IF one > 0 THEN
            changed := changed + 1;
            ended := ended || fences[i];
        END IF;
    END LOOP;
    IF changed > 0 THEN
        PERFORM pawl.claims_ended(ended);
    END IF;
    RETURN changed;
END
$$;

-- Failed for good: a dead letter, kept until it is redriven or purged. ("buried", here and below: the
-- dead-letter handler is to be called, if that was asked for.)
CREATE OR REPLACE FUNCTION pawl.fail(owner uuid, ids bigint[], fences bigint[], error text DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
    changed bigint;
    ended   bigint[]; -- the fences of those that changed
BEGIN
    PERFORM pawl.check_number('fail: the number of ids', coalesce(cardinality(ids), 0), 0, @BATCH_MOST@, 'at most @BATCH_MOST@');
    WITH gone AS (
        DELETE FROM pawl.queue q
        WHERE q.id = ANY (ids) AND q.owner = fail.owner AND q.fence <> 0
          AND ((q.id, q.fence) IN (SELECT h.id, h.fence FROM unnest(ids, fences) AS h(id, fence))) IS TRUE
        RETURNING q.id, q.lane_id, q.retries, q.fence, q.expires_at, q.last_error, q.progress),
    ended AS (
        INSERT INTO pawl.outcome (id, state, finished_at, retries, processed_by, error, expires_at,
                                  progress)
        SELECT g.id, 3, t, g.retries + 1,
               (SELECT c.owner_name FROM pawl.claim c WHERE c.fence = g.fence),
               coalesce(pawl.cut_text(fail.error), g.last_error), g.expires_at, g.progress
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
    SELECT count(*), array_agg(g.fence) INTO changed, ended FROM gone g;
    IF changed > 0 THEN
        PERFORM pawl.claims_ended(ended);
    END IF;
    RETURN changed;
END
$$;

-- Not now. At the last attempt the message fails; otherwise it is ready again after `delay`, or
-- after min(base * 2^(retries + deferrals), max) + random(0, jitter) of its own or the given policy:
-- the local one for messages without a destination, the remote one for those with. A jitter that is
-- NULL is a tenth of the delay.
CREATE OR REPLACE FUNCTION pawl.abandon(
    owner uuid, ids bigint[], fences bigint[],
    error         text     DEFAULT NULL,
    delay         interval DEFAULT NULL,
    local_base    interval DEFAULT interval '1 second',
    local_max     interval DEFAULT interval '60 seconds',
    local_jitter  interval DEFAULT interval '0',
    remote_base   interval DEFAULT interval '2 seconds',
    remote_max    interval DEFAULT interval '1 hour',
    remote_jitter interval DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    xid CONSTANT xid8 := pg_current_xact_id();
    t   CONSTANT timestamptz := pawl.clock();
    mine    bigint[];
    ended   bigint[]; -- their fences
    failed  bigint;
    retried bigint;
BEGIN
    PERFORM pawl.check_number('abandon: the number of ids', coalesce(cardinality(ids), 0), 0, @BATCH_MOST@, 'at most @BATCH_MOST@');
    IF abandon.delay IS NOT NULL THEN
        PERFORM pawl.check_span('abandon: delay', abandon.delay, @DELAY_LEAST@, @DELAY_MOST@, '@DELAY_WORDS@');
    END IF;
    PERFORM pawl.check_span('abandon: local_base', abandon.local_base, @BACKOFF_LEAST@, @BACKOFF_MOST@, '@BACKOFF_WORDS@');
    PERFORM pawl.check_span('abandon: local_max', abandon.local_max, @BACKOFF_LEAST@, @BACKOFF_MOST@, '@BACKOFF_WORDS@');
    PERFORM pawl.check_span('abandon: local_jitter', coalesce(abandon.local_jitter, interval '0'), @JITTER_LEAST@, @JITTER_MOST@, '@JITTER_WORDS@');
    PERFORM pawl.check_span('abandon: remote_base', abandon.remote_base, @BACKOFF_LEAST@, @BACKOFF_MOST@, '@BACKOFF_WORDS@');
    PERFORM pawl.check_span('abandon: remote_max', abandon.remote_max, @BACKOFF_LEAST@, @BACKOFF_MOST@, '@BACKOFF_WORDS@');
    PERFORM pawl.check_span('abandon: remote_jitter', coalesce(abandon.remote_jitter, interval '0'), @JITTER_LEAST@, @JITTER_MOST@, '@JITTER_WORDS@');
    SELECT array_agg(m.id), array_agg(m.fence) INTO mine, ended
    FROM (SELECT q.id, q.fence FROM pawl.queue q
          WHERE q.id = ANY (ids) AND q.owner = abandon.owner AND q.fence <> 0
            AND ((q.id, q.fence) IN (SELECT h.id, h.fence FROM unnest(ids, fences) AS h(id, fence))) IS TRUE
          ORDER BY q.id
          FOR UPDATE) m;
    IF mine IS NULL THEN
        RETURN 0;
    END IF;

    WITH gone AS (
        DELETE FROM pawl.queue q
        WHERE q.id = ANY (mine)
          AND EXISTS (SELECT FROM pawl.body b
                      WHERE b.id = q.id AND b.max_attempts > 0 AND q.retries + 1 >= b.max_attempts)
        RETURNING q.id, q.lane_id, q.retries, q.fence, q.expires_at, q.last_error, q.progress),
    ended AS (
        INSERT INTO pawl.outcome (id, state, finished_at, retries, processed_by, error, expires_at,
                                  progress)
        SELECT g.id, 3, t, g.retries + 1,
               (SELECT c.owner_name FROM pawl.claim c WHERE c.fence = g.fence),
               coalesce(pawl.cut_text(abandon.error), g.last_error), g.expires_at, g.progress
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
    SET retries = q.retries + 1, owner = '00000000-0000-0000-0000-000000000000',
        lease_until = 'epoch', fence = 0, last_error = coalesce(pawl.cut_text(abandon.error), q.last_error),
        stamped_at = t, run_at = t + coalesce(abandon.delay, (
            SELECT d.delay + random() * CASE WHEN d.jitter IS NULL THEN d.delay / 10
                                             ELSE pawl.backoff(d.jitter, interval '@JITTER_MOST@ milliseconds', 0) END
            FROM (SELECT pawl.backoff(
                             coalesce(b.retry_base, CASE WHEN b.destination IS NULL THEN local_base ELSE remote_base END),
                             coalesce(b.retry_max, CASE WHEN b.destination IS NULL THEN local_max ELSE remote_max END),
                             q.retries + q.deferrals) AS delay,
                         CASE WHEN b.retry_base IS NOT NULL THEN b.retry_jitter
                              WHEN b.destination IS NULL THEN local_jitter ELSE remote_jitter END AS jitter
                  FROM pawl.body b WHERE b.id = q.id) d))
    WHERE q.id = ANY (mine);
    GET DIAGNOSTICS retried = ROW_COUNT;
    IF retried > 0 THEN
        PERFORM pawl.wake();
    END IF;
    PERFORM pawl.claims_ended(ended);
    RETURN failed + retried;
END
$$;

-- Not now, and not counted: nothing was wrong with the message. Ready again after `delay`, or as after
-- abandon(); the attempts stay as they are, and only its time to live ends it.
CREATE OR REPLACE FUNCTION pawl.defer(
    owner uuid, ids bigint[], fences bigint[],
    error         text     DEFAULT NULL,
    delay         interval DEFAULT NULL,
    local_base    interval DEFAULT interval '1 second',
    local_max     interval DEFAULT interval '60 seconds',
    local_jitter  interval DEFAULT interval '0',
    remote_base   interval DEFAULT interval '2 seconds',
    remote_max    interval DEFAULT interval '1 hour',
    remote_jitter interval DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    xid CONSTANT xid8 := pg_current_xact_id();
    t   CONSTANT timestamptz := pawl.clock();
    mine    bigint[];
    ended   bigint[]; -- their fences
BEGIN
    PERFORM pawl.check_number('defer: the number of ids', coalesce(cardinality(ids), 0), 0, @BATCH_MOST@, 'at most @BATCH_MOST@');
    IF defer.delay IS NOT NULL THEN
        PERFORM pawl.check_span('defer: delay', defer.delay, @DELAY_LEAST@, @DELAY_MOST@, '@DELAY_WORDS@');
    END IF;
    PERFORM pawl.check_span('defer: local_base', defer.local_base, @BACKOFF_LEAST@, @BACKOFF_MOST@, '@BACKOFF_WORDS@');
    PERFORM pawl.check_span('defer: local_max', defer.local_max, @BACKOFF_LEAST@, @BACKOFF_MOST@, '@BACKOFF_WORDS@');
    PERFORM pawl.check_span('defer: local_jitter', coalesce(defer.local_jitter, interval '0'), @JITTER_LEAST@, @JITTER_MOST@, '@JITTER_WORDS@');
    PERFORM pawl.check_span('defer: remote_base', defer.remote_base, @BACKOFF_LEAST@, @BACKOFF_MOST@, '@BACKOFF_WORDS@');
    PERFORM pawl.check_span('defer: remote_max', defer.remote_max, @BACKOFF_LEAST@, @BACKOFF_MOST@, '@BACKOFF_WORDS@');
    PERFORM pawl.check_span('defer: remote_jitter', coalesce(defer.remote_jitter, interval '0'), @JITTER_LEAST@, @JITTER_MOST@, '@JITTER_WORDS@');
    SELECT array_agg(m.id), array_agg(m.fence) INTO mine, ended
    FROM (SELECT q.id, q.fence FROM pawl.queue q
          WHERE q.id = ANY (ids) AND q.owner = defer.owner AND q.fence <> 0
            AND ((q.id, q.fence) IN (SELECT h.id, h.fence FROM unnest(ids, fences) AS h(id, fence))) IS TRUE
          ORDER BY q.id
          FOR UPDATE) m;
    IF mine IS NULL THEN
        RETURN 0;
    END IF;
    UPDATE pawl.queue q
    SET deferrals = q.deferrals + 1, owner = '00000000-0000-0000-0000-000000000000',
        lease_until = 'epoch', fence = 0, last_error = coalesce(pawl.cut_text(defer.error), q.last_error),
        stamped_at = t, run_at = t + coalesce(defer.delay, (
            SELECT d.delay + random() * CASE WHEN d.jitter IS NULL THEN d.delay / 10
                                             ELSE pawl.backoff(d.jitter, interval '@JITTER_MOST@ milliseconds', 0) END
            FROM (SELECT pawl.backoff(
                             coalesce(b.retry_base, CASE WHEN b.destination IS NULL THEN local_base ELSE remote_base END),
                             coalesce(b.retry_max, CASE WHEN b.destination IS NULL THEN local_max ELSE remote_max END),
                             q.retries + q.deferrals) AS delay,
                         CASE WHEN b.retry_base IS NOT NULL THEN b.retry_jitter
                              WHEN b.destination IS NULL THEN local_jitter ELSE remote_jitter END AS jitter
                  FROM pawl.body b WHERE b.id = q.id) d))
    WHERE q.id = ANY (mine);
    PERFORM pawl.wake();
    PERFORM pawl.claims_ended(ended);
    RETURN cardinality(mine);
END
$$;

-- Push the end of the lease; reap looks at the new end when the claim's check comes up. That is too
-- late for a lease that was made shorter, so its check is brought forward; one too many costs little.
CREATE OR REPLACE FUNCTION pawl.renew(
    owner uuid, ids bigint[], fences bigint[], lease interval DEFAULT interval '30 seconds')
RETURNS bigint
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    xid CONSTANT xid8 := pg_current_xact_id();
    t   CONSTANT timestamptz := pawl.clock();
    changed bigint;
BEGIN
    PERFORM pawl.check_number('renew: the number of ids', coalesce(cardinality(ids), 0), 0, @BATCH_MOST@, 'at most @BATCH_MOST@');
    PERFORM pawl.check_span('renew: lease', renew.lease, @LEASE_LEAST@, @LEASE_MOST@, '@LEASE_WORDS@');
    UPDATE pawl.queue q
    SET lease_until = t + least(coalesce(q.lease, renew.lease), interval '@LEASE_MOST@ milliseconds')
    WHERE q.id = ANY (ids) AND q.owner = renew.owner AND q.fence <> 0
      AND ((q.id, q.fence) IN (SELECT h.id, h.fence FROM unnest(ids, fences) AS h(id, fence))) IS TRUE;
    GET DIAGNOSTICS changed = ROW_COUNT;
    IF changed > 0 THEN
        UPDATE pawl.claim c SET check_at = t + renew.lease
        WHERE c.fence = ANY (fences) AND c.owner = renew.owner AND c.check_at > t + renew.lease;
    END IF;
    RETURN changed;
END
$$;

-- Ready again at once, the attempt not counted.
CREATE OR REPLACE FUNCTION pawl.release(owner uuid, ids bigint[], fences bigint[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    xid CONSTANT xid8 := pg_current_xact_id();
    t   CONSTANT timestamptz := pawl.clock();
    mine    bigint[];
    ended   bigint[]; -- their fences
BEGIN
    PERFORM pawl.check_number('release: the number of ids', coalesce(cardinality(ids), 0), 0, @BATCH_MOST@, 'at most @BATCH_MOST@');
    SELECT array_agg(m.id), array_agg(m.fence) INTO mine, ended
    FROM (SELECT q.id, q.fence FROM pawl.queue q
          WHERE q.id = ANY (ids) AND q.owner = release.owner AND q.fence <> 0
            AND ((q.id, q.fence) IN (SELECT h.id, h.fence FROM unnest(ids, fences) AS h(id, fence))) IS TRUE
          ORDER BY q.id
          FOR UPDATE) m;
    IF mine IS NULL THEN
        RETURN 0;
    END IF;
    UPDATE pawl.queue q
    SET owner = '00000000-0000-0000-0000-000000000000', lease_until = 'epoch', fence = 0, run_at = t,
        stamped_at = t
    WHERE q.id = ANY (mine);
    PERFORM pawl.wake();
    PERFORM pawl.claims_ended(ended);
    RETURN cardinality(mine);
END
$$;

-- How far it is, in the words of whoever holds it.
CREATE OR REPLACE FUNCTION pawl.progress(owner uuid, ids bigint[], fences bigint[], words text) RETURNS bigint
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    changed bigint;
BEGIN
    PERFORM pawl.check_number('progress: the number of ids', coalesce(cardinality(ids), 0), 0, @BATCH_MOST@, 'at most @BATCH_MOST@');
    UPDATE pawl.queue q SET progress = pawl.cut_text(words)
    WHERE q.id = ANY (ids) AND q.owner = progress.owner AND q.fence <> 0
      AND ((q.id, q.fence) IN (SELECT h.id, h.fence FROM unnest(ids, fences) AS h(id, fence))) IS TRUE;
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END
$$;

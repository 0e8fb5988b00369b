-- Finishing and renewing claims. Each function takes an owner and pairs of work id and fence, changes only
-- messages that the owner still holds under that fence, and returns the number of changed messages.

-- A claim row is removed with the last message that it covers. `ended` has the fence of each message that has
-- just left its claim, one entry per message. If the count equals the size of the claim, the claim is empty.
-- Otherwise the claim's messages are looked up, the last one first: messages mostly end in the order in which
-- they were claimed, so that one lookup decides for almost every message of a batch that is finished one by
-- one.
--
-- Never waits. Two transactions that end the last two messages of a claim at the same time each see the other's
-- message as held, and a claim row that reap() has locked is skipped. In both cases reap() removes the row at
-- its next check. (The subqueries refer to the claim in FROM and have a LIMIT, which keeps the planner from
-- reading the whole queue.)
CREATE OR REPLACE FUNCTION pawl.claims_ended(ended bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    DELETE FROM pawl.claim d
    WHERE d.fence = ANY (ARRAY(
        SELECT c.fence FROM pawl.claim c
        WHERE c.fence = ANY (ended)
          AND (cardinality(c.ids) = (SELECT count(*) FROM unnest(ended) AS e(fence) WHERE e.fence = c.fence)
               OR (NOT EXISTS (SELECT
                               -- @include held_of_claim ids='(SELECT c.ids[cardinality(c.ids)] AS id) u' columns=
                               )
                   AND NOT EXISTS (SELECT
                                   -- @include held_of_claim ids='unnest(c.ids) AS u(id)' columns=
                                   )))
        FOR UPDATE SKIP LOCKED));
END
$$;

-- Leaves which of the listed messages a call has changed in this transaction, '1' or '0' for each, for the
-- statement that made the call: its result is one row, and almost always the number says it all. Settings of the
-- transaction carry what is for the library alone; the functions' signatures are those for any user.
CREATE OR REPLACE FUNCTION pawl.leave_which(ids bigint[], fences bigint[], changed_ids bigint[], changed_fences bigint[])
RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM set_config('pawl_scan.which', (
        SELECT string_agg(CASE WHEN ((u.id, u.fence) IN (SELECT c.id, c.fence
                                                         FROM unnest(changed_ids, changed_fences) AS c(id, fence)))
                                    IS TRUE THEN '1' ELSE '0' END, '' ORDER BY u.place)
        FROM unnest(ids, fences) WITH ORDINALITY AS u(id, fence, place)), true);
END
$$;

-- Acknowledges messages: the queue row is removed, an outcome row is added.
CREATE OR REPLACE FUNCTION pawl.ack(owner uuid, ids bigint[], fences bigint[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
    my_name text; -- NULL: the messages are of several claims
    changed bigint;
    done_ids bigint[]; -- those that changed
    ended   bigint[]; -- their fences
BEGIN
    -- @include check_ids function=ack
    IF fences[1] = ALL (fences) THEN
        SELECT c.owner_name INTO my_name FROM pawl.claim c WHERE c.fence = fences[1];
    END IF;
    WITH left_queue AS (
        DELETE FROM pawl.queue q
        -- @include held_under function=ack row=q
        RETURNING q.id, q.lane_id, q.retries, q.fence, q.progress),
    ended AS (
        INSERT INTO pawl.outcome (id, state, finished_at, retries, processed_by, progress)
        SELECT g.id, @STATE_DONE@, t, g.retries,
               coalesce(my_name, (SELECT c.owner_name FROM pawl.claim c WHERE c.fence = g.fence)),
               g.progress
        FROM left_queue g),
    -- @include end_counted state=@STATE_DONE@
    SELECT count(*), array_agg(g.id), array_agg(g.fence) INTO changed, done_ids, ended FROM left_queue g;
    IF changed > 0 THEN
        PERFORM pawl.claims_ended(ended);
    END IF;
    -- @include leave_which ids=done_ids fences=ended
    RETURN changed;
END
$$;

-- Acknowledges messages and stores the handlers' output (NULL: none). Rows are processed one by one, because
-- few have output.
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
    -- @include check_ids function=ack_output
    IF EXISTS (SELECT FROM unnest(outputs) AS o(bytes) WHERE octet_length(o.bytes) > @OUTPUT_MAX@) THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = 'ack_output: each output must have @OUTPUT_RANGE@', HINT = 'Nothing was changed.';
    END IF;
    FOR i IN 1 .. coalesce(cardinality(ids), 0) LOOP
        WITH left_queue AS (
            DELETE FROM pawl.queue q
            WHERE q.id = ids[i] AND q.fence = fences[i] AND q.owner = ack_output.owner AND q.fence <> 0
            RETURNING q.id, q.lane_id, q.retries, q.fence, q.progress),
        ended AS (
            INSERT INTO pawl.outcome (id, state, finished_at, retries, processed_by, progress, output)
            SELECT g.id, @STATE_DONE@, t, g.retries, (SELECT c.owner_name FROM pawl.claim c WHERE c.fence = g.fence),
                   g.progress, outputs[i]
            FROM left_queue g),
        counted AS (
            INSERT INTO pawl.topic_stats_delta (lane_id, state, n) SELECT g.lane_id, @STATE_DONE@, 1 FROM left_queue g)
        SELECT count(*) INTO one FROM left_queue;
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

-- Fails messages permanently. They are dead letters until they are retried or purged.
CREATE OR REPLACE FUNCTION pawl.fail(owner uuid, ids bigint[], fences bigint[], error text DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
    changed bigint;
    failed_ids bigint[]; -- those that changed
    ended   bigint[]; -- their fences
BEGIN
    -- @include check_ids function=fail
    WITH left_queue AS (
        DELETE FROM pawl.queue q
        -- @include held_under function=fail row=q
        RETURNING q.id, q.lane_id, q.retries, q.fence, q.expires_at, q.last_error, q.progress),
    -- @include end_failed error='coalesce(pawl.cut_text(fail.error), g.last_error)'
    SELECT count(*), array_agg(g.id), array_agg(g.fence) INTO changed, failed_ids, ended FROM left_queue g;
    IF changed > 0 THEN
        PERFORM pawl.claims_ended(ended);
    END IF;
    -- @include leave_which ids=failed_ids fences=ended
    RETURN changed;
END
$$;

-- Records failed attempts. On its last attempt the message fails; otherwise it is ready again after `delay`, or
-- after the backoff of its own or the given policy.
CREATE OR REPLACE FUNCTION pawl.abandon(
    -- @include later_arguments
    )
RETURNS bigint
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    xid CONSTANT xid8 := pg_current_xact_id();
    t   CONSTANT timestamptz := pawl.clock();
    held_ids bigint[];
    ended   bigint[]; -- their fences
    failed  bigint;
    retried bigint;
BEGIN
    -- @include check_ids function=abandon
    -- @include check_later function=abandon
    -- @include lock_held function=abandon table=queue

    WITH left_queue AS (
        DELETE FROM pawl.queue q
        WHERE q.id = ANY (held_ids)
          AND EXISTS (SELECT FROM pawl.body b
                      WHERE b.id = q.id AND b.max_attempts > 0 AND q.retries + 1 >= b.max_attempts)
        RETURNING q.id, q.lane_id, q.retries, q.fence, q.expires_at, q.last_error, q.progress),
    -- @include end_failed error='coalesce(pawl.cut_text(abandon.error), g.last_error)'
    SELECT count(*) INTO failed FROM left_queue;

    -- @include give_back_later function=abandon counter=retries
    GET DIAGNOSTICS retried = ROW_COUNT;
    IF retried > 0 THEN
        PERFORM pawl.wake();
    END IF;
    PERFORM pawl.claims_ended(ended);
    RETURN failed + retried;
END
$$;

-- Returns messages without counting an attempt, for failures that are not the message's. They are ready again
-- after `delay` or the backoff of abandon(). The attempts do not change; only its time to live ends such a
-- message.
CREATE OR REPLACE FUNCTION pawl.defer(
    -- @include later_arguments
    )
RETURNS bigint
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    xid CONSTANT xid8 := pg_current_xact_id();
    t   CONSTANT timestamptz := pawl.clock();
    held_ids bigint[];
    ended   bigint[]; -- their fences
BEGIN
    -- @include check_ids function=defer
    -- @include check_later function=defer
    -- @include lock_held function=defer table=queue
    -- @include give_back_later function=defer counter=deferrals
    PERFORM pawl.wake();
    PERFORM pawl.claims_ended(ended);
    RETURN cardinality(held_ids);
END
$$;

-- Extends leases. reap() sees the new end at the claim's next check. For a shortened lease that would be too
-- late, so the check is moved forward; an unnecessary check is cheap.
CREATE OR REPLACE FUNCTION pawl.renew(
    owner uuid, ids bigint[], fences bigint[], lease interval DEFAULT interval '@LEASE_DEFAULT@ milliseconds')
RETURNS bigint
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    xid CONSTANT xid8 := pg_current_xact_id();
    t   CONSTANT timestamptz := pawl.clock();
    changed bigint;
    held_ids    bigint[];
    held_fences bigint[];
BEGIN
    -- @include check_ids function=renew
    PERFORM pawl.check_span('renew: lease', renew.lease, @LEASE_MIN@, @LEASE_MAX@, '@LEASE_RANGE@');
    UPDATE pawl.queue q
    SET lease_until = t + least(coalesce(q.lease, renew.lease), interval '@LEASE_MAX@ milliseconds')
    -- @include held_under function=renew row=q
    ;
    GET DIAGNOSTICS changed = ROW_COUNT;
    IF changed > 0 THEN
        UPDATE pawl.claim c SET check_at = t + renew.lease
        WHERE c.fence = ANY (fences) AND c.owner = renew.owner AND c.check_at > t + renew.lease;
    END IF;
    -- @include find_renewed function=renew table=queue
    RETURN changed;
END
$$;

-- Makes messages ready again at once without counting an attempt.
CREATE OR REPLACE FUNCTION pawl.release(owner uuid, ids bigint[], fences bigint[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    xid CONSTANT xid8 := pg_current_xact_id();
    t   CONSTANT timestamptz := pawl.clock();
    held_ids bigint[];
    ended   bigint[]; -- their fences
BEGIN
    -- @include check_ids function=release
    -- @include lock_held function=release table=queue
    UPDATE pawl.queue q
    SET owner = '00000000-0000-0000-0000-000000000000', lease_until = 'epoch', fence = 0, run_at = t,
        stamped_at = t
    WHERE q.id = ANY (held_ids);
    PERFORM pawl.wake();
    PERFORM pawl.claims_ended(ended);
    RETURN cardinality(held_ids);
END
$$;

-- Stores the progress text of the handler.
CREATE OR REPLACE FUNCTION pawl.progress(owner uuid, ids bigint[], fences bigint[], words text) RETURNS bigint
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    changed bigint;
BEGIN
    -- @include check_ids function=progress
    UPDATE pawl.queue q SET progress = pawl.cut_text(words)
    -- @include held_under function=progress row=q
    ;
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END
$$;

-- Taking work, and asking what one has taken.

-- What claim_batch answers: messages, and then, where the message columns are NULL, what the next
-- claim needs to know where it may start (docs/internals/claim-cursor.md):
--   item 1: `at` is a clock reading, `number` this transaction's id, taken after it
--   item 2: `number` is where the snapshot ends: this id and all higher ones count as running
--   item 3: `number` is the id of a transaction below both that was running
--   item 4: `number` is a lane that was looked at, `at` its oldest row that is ready and not taken
-- and how many messages of an earlier claim were done:
--   item 5: `number` of them
CREATE VIEW pawl.claimed AS
    SELECT m.*, 0::smallint AS item, 0::bigint AS number, m.due_at AS at
    FROM pawl.message m WHERE false;

-- Take up to max_rows messages that are ready and due, for `lease` each (or the message's own).
-- Higher priorities first; topics of equal priority take turns by `turn`, which a caller counts up
-- (NULL: at random); within a lane by run_at. Nothing due writes nothing and draws no token.
--
-- The library's form of claim(): in a lane of cursor_lanes it looks only at rows from the time in
-- cursor_since on, which keeps it from walking over the index entries of finished rows that vacuum
-- cannot remove yet. NULL: everything is looked at, and nothing but messages is answered. First it
-- acknowledges what is in done_ids and done_fences.
CREATE FUNCTION pawl.claim_batch(
    owner uuid, lease interval, max_rows bigint, topics text[], owner_name text, turn bigint,
    done_ids bigint[], done_fences bigint[], cursor_lanes bigint[], cursor_since timestamptz[])
RETURNS SETOF pawl.claimed
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    -- The order of these three matters. Whoever stamped a row before `began` has an id below `my_xid`;
    -- and this transaction has its id before it reads the clock that its own claim row is stamped with.
    began  CONSTANT timestamptz := pawl.clock();
    my_xid CONSTANT xid8 := pg_current_xact_id();
    t      CONSTANT timestamptz := pawl.clock();
    my_owner CONSTANT uuid := owner;
    my_lease CONSTANT interval := lease;
    my_name  CONSTANT text := coalesce(owner_name, owner::text);
    my_turn  CONSTANT bigint := coalesce(turn, floor(random() * 1000000)::bigint);
    lanes    integer[];
    starts   timestamptz[];
    reached  bigint;
    taken    bigint[];
    shortest interval;
    token    bigint;
    note     pawl.claimed;
BEGIN
    IF my_owner IS NULL OR my_owner = '00000000-0000-0000-0000-000000000000' THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = 'claim: owner must not be NULL or zero',
            HINT = 'Make a UUID once per worker start, for example with gen_random_uuid().';
    ELSIF my_lease IS NULL OR my_lease <= interval '0' OR my_lease > interval '7 days' THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = 'claim: lease must be positive and at most 7 days';
    ELSIF max_rows IS NULL OR max_rows NOT BETWEEN 1 AND 10000 THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = 'claim: max_rows must be 1 to 10000';
    END IF;

    IF cardinality(done_ids) > 0 THEN
        note.item := 5;
        note.number := pawl.ack(my_owner, done_ids, done_fences);
        RETURN NEXT note;
    END IF;

    -- The lanes in claim order, and where to start in each.
    IF topics IS NULL THEN
        SELECT array_agg(o.id), array_agg(o.since) INTO lanes, starts
        FROM (SELECT l.id, coalesce(c.since, '-infinity') AS since
              FROM (SELECT a.id, a.priority, row_number() OVER (PARTITION BY a.priority ORDER BY a.id) AS place,
                           count(*) OVER (PARTITION BY a.priority) AS places
                    FROM pawl.lane a) l
              LEFT JOIN unnest(cursor_lanes, cursor_since) AS c(lane, since) ON c.lane = l.id
              ORDER BY l.priority DESC, (l.place + my_turn) % l.places) o;
    ELSE
        SELECT array_agg(o.id), array_agg(o.since) INTO lanes, starts
        FROM (SELECT l.id, coalesce(c.since, '-infinity') AS since
              FROM (SELECT a.id, a.priority, row_number() OVER (PARTITION BY a.priority ORDER BY a.id) AS place,
                           count(*) OVER (PARTITION BY a.priority) AS places
                    FROM pawl.lane a WHERE a.topic = ANY (topics)) l
              LEFT JOIN unnest(cursor_lanes, cursor_since) AS c(lane, since) ON c.lane = l.id
              ORDER BY l.priority DESC, (l.place + my_turn) % l.places) o;
    END IF;

    -- Each lane is one range of queue_due, walked in order until enough rows are locked.
    SELECT array_agg(q.id), min(coalesce(q.lease, my_lease)),
           CASE WHEN count(*) = max_rows THEN max(q.place) END
    INTO taken, shortest, reached
    FROM (SELECT r.id, r.lease, lane.place
          FROM unnest(lanes, starts) WITH ORDINALITY AS lane(id, since, place)
          CROSS JOIN LATERAL (
              SELECT c.id, c.lease
              FROM pawl.queue c
              WHERE c.lane_id = lane.id AND c.run_at >= lane.since AND c.run_at <= t
                AND c.fence = 0 AND (c.expires_at IS NULL OR c.expires_at > t)
              ORDER BY c.run_at, c.id
              LIMIT max_rows
              FOR UPDATE SKIP LOCKED) r
          ORDER BY lane.place
          LIMIT max_rows) q;

    IF taken IS NOT NULL THEN
        -- Drawn while the rows are locked: a later holder of any of them has a higher token.
        token := nextval('pawl.fence');
        INSERT INTO pawl.claim (fence, owner, owner_name, check_at, ids)
        VALUES (token, my_owner, my_name, t + shortest, taken);
        UPDATE pawl.queue q
        SET owner = my_owner, lease_until = t + coalesce(q.lease, my_lease), fence = token
        WHERE q.id = ANY (taken);

        RETURN QUERY
            SELECT m.id, m.message_id, m.topic, m.payload, m.type, m.destination, m.headers,
                   m.correlation_id, m.priority, m.created_at, m.due_at, m.expires_at,
                   m.max_attempts, m.retries, 1::smallint, token, my_owner, my_name, m.lease_until,
                   m.run_at, NULL::timestamptz, NULL::text, m.last_error,
                   NULL::smallint, NULL::bigint, NULL::timestamptz
            FROM unnest(taken) WITH ORDINALITY AS u(id, place)
            CROSS JOIN LATERAL (
                SELECT b.id, b.message_id, l.topic, b.payload, b.type, b.destination, b.headers,
                       b.correlation_id, l.priority, b.created_at, b.due_at,
                       coalesce(q.expires_at, b.expires_at) AS expires_at,
                       b.max_attempts, q.retries, q.lease_until, q.run_at, q.last_error
                FROM pawl.queue q, pawl.body b, pawl.lane l
                WHERE q.id = u.id AND b.id = u.id AND l.id = b.lane_id
                LIMIT 1) m
            ORDER BY u.place;
    END IF;
    IF cursor_lanes IS NULL THEN
        RETURN;
    END IF;

    -- One statement, so that all of it is true of one snapshot. The rows taken above are held in it;
    -- one that another open claim has locked is still ready, and is if that claim is rolled back.
    FOR note.item, note.number, note.at IN
        SELECT 1, my_xid::text::bigint, began
        UNION ALL
        SELECT 2, pg_snapshot_xmax(pg_current_snapshot())::text::bigint, NULL
        UNION ALL
        SELECT 3, x.xid::text::bigint, NULL
        FROM pg_snapshot_xip(pg_current_snapshot()) AS x(xid) WHERE x.xid < my_xid
        UNION ALL
        SELECT 4, lane.id,
               (SELECT c.run_at FROM pawl.queue c
                WHERE c.lane_id = lane.id AND c.run_at >= lane.since AND c.run_at <= t
                  AND c.fence = 0 AND (c.expires_at IS NULL OR c.expires_at > t)
                ORDER BY c.run_at, c.id LIMIT 1)
        FROM unnest(lanes, starts) WITH ORDINALITY AS lane(id, since, place)
        WHERE lane.place <= reached OR reached IS NULL
    LOOP
        RETURN NEXT note;
    END LOOP;
END
$$;

-- The same for psql and every language, from the beginning of every lane.
CREATE FUNCTION pawl.claim(
    owner      uuid,
    lease      interval DEFAULT interval '30 seconds',
    max_rows   bigint   DEFAULT 1,
    topics     text[]   DEFAULT NULL, -- NULL: all
    owner_name text     DEFAULT NULL, -- kept as claimed_by and processed_by; NULL: the owner
    turn       bigint   DEFAULT NULL)
RETURNS SETOF pawl.message
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN QUERY
        SELECT c.id, c.message_id, c.topic, c.payload, c.type, c.destination, c.headers,
               c.correlation_id, c.priority, c.created_at, c.due_at, c.expires_at, c.max_attempts,
               c.retries, c.state, c.fence, c.owner, c.claimed_by, c.lease_until, c.next_attempt_at,
               c.finished_at, c.processed_by, c.last_error
        FROM pawl.claim_batch(claim.owner, claim.lease, claim.max_rows, claim.topics,
                              claim.owner_name, claim.turn, NULL, NULL, NULL, NULL) c;
END
$$;

-- ack() of what was done of an earlier claim, and the next claim, in one transaction.
CREATE FUNCTION pawl.ack_and_claim(
    owner      uuid,
    ids        bigint[],
    fences     bigint[],
    lease      interval DEFAULT interval '30 seconds',
    max_rows   bigint   DEFAULT 1,
    topics     text[]   DEFAULT NULL,
    owner_name text     DEFAULT NULL,
    turn       bigint   DEFAULT NULL)
RETURNS SETOF pawl.message
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pawl.ack(ack_and_claim.owner, ack_and_claim.ids, ack_and_claim.fences);
    RETURN QUERY SELECT c.* FROM pawl.claim(ack_and_claim.owner, ack_and_claim.lease,
                                            ack_and_claim.max_rows, ack_and_claim.topics,
                                            ack_and_claim.owner_name, ack_and_claim.turn) c;
END
$$;

-- Everything an owner holds now: after a claim whose answer was lost, or after a restart. In two
-- steps, so that the planner cannot prefer the order of the fences to the index on the owner.
CREATE FUNCTION pawl.held(owner uuid) RETURNS SETOF pawl.message
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    fences CONSTANT bigint[] := ARRAY(SELECT c.fence FROM pawl.claim c WHERE c.owner = held.owner);
BEGIN
    RETURN QUERY
        SELECT m.*
        FROM (SELECT c.fence, i.id, i.place
              FROM pawl.claim c CROSS JOIN LATERAL unnest(c.ids) WITH ORDINALITY AS i(id, place)
              WHERE c.fence = ANY (fences)) u
        CROSS JOIN LATERAL (SELECT v.* FROM pawl.message v
                            WHERE v.id = u.id AND v.fence = u.fence LIMIT 1) m
        ORDER BY u.fence, u.place;
END
$$;

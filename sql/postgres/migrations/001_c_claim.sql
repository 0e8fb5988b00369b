-- Taking work, and asking what one has taken.

-- Take up to max_rows messages that are ready and due, for `lease` each (or the message's own).
-- Higher priorities first; topics of equal priority take turns by `turn`, which a caller counts up
-- (NULL: at random); within a lane by run_at. Nothing due writes nothing and draws no token.
CREATE FUNCTION pawl.claim(
    owner      uuid,
    lease      interval DEFAULT interval '30 seconds',
    max_rows   bigint   DEFAULT 1,
    topics     text[]   DEFAULT NULL, -- NULL: all
    owner_name text     DEFAULT NULL, -- kept as claimed_by and processed_by; NULL: the owner
    turn       bigint   DEFAULT NULL)
RETURNS SETOF pawl.message
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
    my_owner CONSTANT uuid := owner;
    my_lease CONSTANT interval := lease;
    my_name  CONSTANT text := coalesce(owner_name, owner::text);
    my_turn  CONSTANT bigint := coalesce(turn, floor(random() * 1000000)::bigint);
    lanes    integer[];
    taken    bigint[];
    shortest interval;
    token    bigint;
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

    IF topics IS NULL THEN
        lanes := ARRAY(
            SELECT l.id
            FROM (SELECT a.id, a.priority, row_number() OVER (PARTITION BY a.priority ORDER BY a.id) AS place,
                         count(*) OVER (PARTITION BY a.priority) AS places
                  FROM pawl.lane a) l
            ORDER BY l.priority DESC, (l.place + my_turn) % l.places);
    ELSE
        lanes := ARRAY(
            SELECT l.id
            FROM (SELECT a.id, a.priority, row_number() OVER (PARTITION BY a.priority ORDER BY a.id) AS place,
                         count(*) OVER (PARTITION BY a.priority) AS places
                  FROM pawl.lane a WHERE a.topic = ANY (topics)) l
            ORDER BY l.priority DESC, (l.place + my_turn) % l.places);
    END IF;

    -- Each lane is one range of queue_due, walked in order until enough rows are locked. run_at has
    -- no lower bound yet, so entries of finished rows that vacuum has not removed are walked over.
    SELECT array_agg(q.id), min(coalesce(q.lease, my_lease)) INTO taken, shortest
    FROM (SELECT r.id, r.lease
          FROM unnest(lanes) WITH ORDINALITY AS lane(id, place)
          CROSS JOIN LATERAL (
              SELECT c.id, c.lease
              FROM pawl.queue c
              WHERE c.lane_id = lane.id AND c.run_at <= t
                AND c.fence = 0 AND (c.expires_at IS NULL OR c.expires_at > t)
              ORDER BY c.run_at, c.id
              LIMIT max_rows
              FOR UPDATE SKIP LOCKED) r
          ORDER BY lane.place
          LIMIT max_rows) q;
    IF taken IS NULL THEN
        RETURN;
    END IF;

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
               m.run_at, NULL::timestamptz, NULL::text, m.last_error
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
END
$$;

-- Everything an owner holds now: after a claim whose answer was lost, or after a restart.
CREATE FUNCTION pawl.held(owner uuid) RETURNS SETOF pawl.message
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
        SELECT m.*
        FROM (SELECT c.fence, i.id, i.place
              FROM pawl.claim c CROSS JOIN LATERAL unnest(c.ids) WITH ORDINALITY AS i(id, place)
              WHERE c.owner = held.owner) u
        CROSS JOIN LATERAL (SELECT v.* FROM pawl.message v WHERE v.id = u.id AND v.fence = u.fence LIMIT 1) m
        ORDER BY u.fence, u.place;
END
$$;

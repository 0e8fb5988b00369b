-- Claiming messages, and listing what an owner has claimed.

-- Claims up to max_rows messages for local handlers that are ready and due, each for `lease` or the message's
-- own lease. Higher priorities come first. Lanes of equal priority rotate, starting after the lane after_lane,
-- where the caller's last claim ended (NULL: anywhere). Within a lane the order is run_at. If nothing is due,
-- the function writes nothing and draws no fencing token.
--
-- With `destinations` (and then without topics) it claims only messages for those, in the given order, for each
-- at most the number at the same position of `limits`. Within a destination the order is as above, except that
-- topics are in any order.
--
-- This is the library's form of claim(). In the lane cursor_first it scans only rows from the time
-- cursor_since[1] on, in the next lane from cursor_since[2], and so on, so that it does not walk over index
-- entries of finished rows that vacuum cannot remove yet. NULL: all rows are scanned. With `notes` it also leaves
-- what the next claim's cursor needs to claim_notes(); it always does so when there are fewer messages than
-- requested. If the transaction has an id already, the caller has read the clock before it was assigned, and left
-- the reading in the setting pawl_scan.began (the statement claim_ack).
CREATE OR REPLACE FUNCTION pawl.claim_batch(
    owner uuid, lease interval, max_rows bigint, topics text[], owner_name text, after_lane bigint,
    cursor_first bigint, cursor_since timestamptz[], notes boolean,
    destinations text[] DEFAULT NULL, limits bigint[] DEFAULT NULL)
RETURNS SETOF pawl.claimed
LANGUAGE plpgsql VOLATILE
-- @include ordered_index_plan
AS $$
#variable_conflict use_column
DECLARE
    -- The order of these three matters. A transaction that stamped a row before `began` has an id below
    -- `my_xid`, and this transaction has its id before it reads the clock that stamps its own claim row.
    began  CONSTANT timestamptz := CASE WHEN pg_current_xact_id_if_assigned() IS NULL THEN pawl.clock()
        ELSE coalesce(to_timestamp(nullif(current_setting('pawl_scan.began', true), '')::float8), pawl.clock()) END;
    my_xid CONSTANT xid8 := pg_current_xact_id();
    t      CONSTANT timestamptz := pawl.clock();
    my_owner CONSTANT uuid := owner;
    my_lease CONSTANT interval := lease;
    longest  CONSTANT interval := interval '@LEASE_MAX@ milliseconds'; -- also where a stored lease is longer
    my_name  CONSTANT text := coalesce(owner_name, owner::text);
    pivot    bigint := after_lane;
    lanes    bigint[];
    reached  bigint;
    taken    bigint[];
    -- the other columns of the claimed rows, as parallel arrays
    from_lane  bigint[];
    tries      integer[];
    waits      integer[];
    times      timestamptz[];
    leases     interval[];
    expiries   timestamptz[];
    errors     text[];
    reports    text[];
    shortest interval;
    token    bigint;
BEGIN
    IF my_owner IS NULL OR my_owner = '00000000-0000-0000-0000-000000000000' THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = 'claim: owner must not be NULL or zero',
            HINT = 'Make a UUID once per worker start, for example with gen_random_uuid().';
    ELSIF (date_part('epoch', my_lease) * 1000 BETWEEN @LEASE_MIN@ AND @LEASE_MAX@) IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = 'claim: lease must be @LEASE_RANGE@';
    ELSIF max_rows IS NULL OR max_rows NOT BETWEEN 1 AND @BATCH_MAX@ THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = 'claim: max_rows must be @BATCH_RANGE@';
    ELSIF topics IS NOT NULL AND destinations IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = 'claim: topics and destinations exclude each other';
    ELSIF cardinality(topics) > @NAMES_MAX@ OR cardinality(destinations) > @NAMES_MAX@ THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = 'claim: topics and destinations must be at most @NAMES_MAX@';
    ELSIF 0 > ANY (limits) THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = 'claim: limits must not be negative';
    ELSIF char_length(owner_name) NOT BETWEEN @OWNER_NAME_MIN@ AND @OWNER_NAME_MAX@ THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = 'claim: owner_name must have @OWNER_NAME_RANGE@';
    END IF;

    IF pivot IS NULL THEN
        pivot := floor(random() * (1 + coalesce((SELECT max(l.id) FROM pawl.lane l), 0)));
    END IF;

    -- Each lane is one range of queue_due, walked in order until enough rows are locked. The index has the
    -- lanes in order, so the scan stops at the last lane that is needed.
    IF destinations IS NOT NULL THEN
        -- @include take_rows reached='count(*)'
        FROM (SELECT g.*
              FROM unnest(destinations, limits) AS d(name, most)
              CROSS JOIN LATERAL (
                  SELECT r.*, lane.id AS lane
                  FROM (SELECT l.id FROM pawl.lane l
                        WHERE l.destination = d.name AND l.destination <> ''
                          AND NOT coalesce(l.paused, pawl.topic_paused(l.topic))
                        ORDER BY l.priority DESC, random()) lane
                  -- @include ready_rows
                  LIMIT coalesce(d.most, max_rows)) g
              LIMIT max_rows) q;
    ELSIF topics IS NULL THEN
        -- @include take_rows reached='max(q.place)'
        FROM (SELECT r.*, lane.id AS lane, lane.place
              FROM (SELECT w.id, row_number() OVER () AS place
                    -- @include lanes_by_turns
                    ) lane
              -- @include ready_rows
              LIMIT max_rows) q;
    ELSE
        lanes := ARRAY(SELECT l.id FROM pawl.lane l
                       WHERE l.topic = ANY (topics) AND l.destination = ''
                         AND NOT coalesce(l.paused, pawl.topic_paused(l.topic))
                       ORDER BY l.priority DESC, l.id <= pivot, l.id);
        -- @include take_rows reached='max(q.place)'
        FROM (SELECT r.*, lane.id AS lane, lane.place
              FROM unnest(lanes) WITH ORDINALITY AS lane(id, place)
              -- @include ready_rows
              LIMIT max_rows) q;
    END IF;

    IF taken IS NOT NULL THEN
        -- Drawn while the rows are locked, so that a later owner of any of them gets a higher token.
        token := nextval('pawl.fence');
        INSERT INTO pawl.claim (fence, owner, owner_name, check_at, lease, ids)
        VALUES (token, my_owner, my_name, t + shortest, least(my_lease, longest), taken);
        UPDATE pawl.queue q
        SET owner = my_owner, lease_until = t + least(coalesce(q.lease, my_lease), longest), fence = token
        WHERE q.id = ANY (taken);
        RETURN QUERY
            -- @include message_columns row=m before='u.lane, began' expires_at='coalesce(u.expires_at, m.expires_at)' retries=u.retries \
            --     state=@STATE_RUNNING@::smallint fence=token owner=my_owner claimed_by=my_name \
            --     lease_until='t + u.lease' next_attempt_at=u.run_at finished_at=NULL::timestamptz \
            --     processed_by=NULL::text last_error=u.last_error progress=u.progress output=NULL::bytea \
            --     deferrals=u.deferrals
            FROM unnest(taken, from_lane, tries, waits, times, leases, expiries, errors, reports)
                 AS u(id, lane, retries, deferrals, run_at, lease, expires_at, last_error, progress)
            CROSS JOIN LATERAL (SELECT b.* FROM pawl.body b WHERE b.id = u.id LIMIT 1) m;
    END IF;
    IF cursor_since IS NULL OR (reached IS NOT NULL AND NOT notes) THEN
        RETURN;
    END IF;

    -- The scanned lanes: all requested ones, or those up to the last one that was needed.
    IF destinations IS NOT NULL THEN
        lanes := ARRAY(SELECT l.id FROM pawl.lane l
                       WHERE l.destination = ANY (destinations) AND l.destination <> ''
                         AND NOT coalesce(l.paused, pawl.topic_paused(l.topic)));
    ELSIF topics IS NULL THEN
        lanes := ARRAY(
            SELECT w.id
            -- @include lanes_by_turns
            LIMIT reached);
    ELSIF reached IS NOT NULL THEN
        lanes := lanes[1:reached];
    END IF;
    -- One statement, so that all results come from one snapshot. It shows the rows claimed above as claimed. A
    -- row that another open claim has locked is still ready; it stays ready if that claim is rolled back.
    -- @include leave_notes
        UNION ALL
        SELECT @NOTE_LANE@, lane.id,
               (SELECT c.run_at
                -- @include ready_from_the_cursor_on
                LIMIT 1)
        FROM unnest(lanes) AS lane(id)
    -- @include leave_notes_end
END
$$;

-- What claim_batch() and reap_batch() have left in this transaction for the next scan's cursor
-- (docs/internals/claim-cursor.md). at_us is in microseconds since 1970.
--   item 1: `at_us` is a clock reading, `number` this transaction's id, assigned before the reading
--   item 2: `number` is the end of the list of item 3: this id and all higher ones count as running
--   item 3: `number` is the id of a lower transaction that was running
--   item 4: `number` is a lane that was scanned, `at_us` its oldest row that is ready and not claimed
CREATE OR REPLACE FUNCTION pawl.claim_notes() RETURNS TABLE (item bigint, number bigint, at_us bigint)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    notes CONSTANT bigint[] := nullif(current_setting('pawl_scan.notes', true), '')::bigint[];
BEGIN
    RETURN QUERY SELECT notes[i][1], notes[i][2], notes[i][3] FROM generate_subscripts(notes, 1) i;
END
$$;

-- Claims messages for psql and any language, always from the start of every lane.
--
-- Where only SQL is used, no worker may be reaping. Therefore a claim that finds nothing reaps up to 100 claims
-- with expired leases and tries once more. One claim in twenty also reaps before it scans, because on a busy
-- queue no claim ever finds nothing.
CREATE OR REPLACE FUNCTION pawl.claim(
    owner      uuid,
    lease      interval DEFAULT interval '@LEASE_DEFAULT@ milliseconds',
    max_rows   bigint   DEFAULT 1,
    topics     text[]   DEFAULT NULL, -- NULL: all
    owner_name text     DEFAULT NULL, -- stored as claimed_by and processed_by; NULL: the owner
    after_lane bigint   DEFAULT NULL, -- the lane where the last claim ended; NULL: start anywhere
    destinations text[] DEFAULT NULL, -- NULL: messages without a destination
    limits     bigint[] DEFAULT NULL) -- maximum per destination; NULL: max_rows
RETURNS SETOF pawl.message
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    reaped boolean := random() < 0.05;
BEGIN
    IF reaped THEN
        PERFORM pawl.reap(100);
    END IF;
    LOOP
        RETURN QUERY
            -- @include message_columns row=c
            FROM pawl.claim_batch(claim.owner, claim.lease, claim.max_rows, claim.topics,
                                  claim.owner_name, claim.after_lane, NULL, NULL, false,
                                  claim.destinations, claim.limits) c;
        EXIT WHEN FOUND OR reaped OR pawl.reap(100) = 0;
        reaped := true;
    END LOOP;
END
$$;

-- Acknowledges messages of an earlier claim and claims more, in one transaction.
CREATE OR REPLACE FUNCTION pawl.ack_and_claim(
    owner      uuid,
    ids        bigint[],
    fences     bigint[],
    lease      interval DEFAULT interval '@LEASE_DEFAULT@ milliseconds',
    max_rows   bigint   DEFAULT 1,
    topics     text[]   DEFAULT NULL,
    owner_name text     DEFAULT NULL,
    after_lane bigint   DEFAULT NULL, -- the lane where the last claim ended; NULL: start anywhere
    destinations text[] DEFAULT NULL, -- this and the next argument as in claim()
    limits     bigint[] DEFAULT NULL)
RETURNS SETOF pawl.message
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pawl.ack(ack_and_claim.owner, ack_and_claim.ids, ack_and_claim.fences);
    RETURN QUERY
        -- @include message_columns row=c
        FROM pawl.claim(ack_and_claim.owner, ack_and_claim.lease, ack_and_claim.max_rows,
                        ack_and_claim.topics, ack_and_claim.owner_name, ack_and_claim.after_lane,
                        ack_and_claim.destinations, ack_and_claim.limits) c;
END
$$;

-- Everything an owner holds now, for use after a claim whose response was lost or after a restart. Two steps
-- keep the planner from preferring the order of the fences to the index on the owner.
CREATE OR REPLACE FUNCTION pawl.owned(owner uuid) RETURNS SETOF pawl.message
LANGUAGE plpgsql VOLATILE
-- @include nested_index_plan
AS $$
#variable_conflict use_column
DECLARE
    fences CONSTANT bigint[] := ARRAY(SELECT c.fence FROM pawl.claim c WHERE c.owner = owned.owner);
BEGIN
    RETURN QUERY
        -- @include message_columns row=m
        FROM (SELECT c.fence, i.id, i.place
              FROM pawl.claim c CROSS JOIN LATERAL unnest(c.ids) WITH ORDINALITY AS i(id, place)
              WHERE c.fence = ANY (fences)) u
        CROSS JOIN LATERAL (SELECT v.* FROM pawl.message v
                            WHERE v.id = u.id AND v.fence = u.fence LIMIT 1) m
        ORDER BY u.fence, u.place;
END
$$;

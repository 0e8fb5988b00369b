-- Enqueueing: batches for the library, single messages for SQL callers.

-- UUID version 7: 48 bits of Unix milliseconds, then random bits.
CREATE OR REPLACE FUNCTION pawl.new_message_id() RETURNS uuid
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    ms CONSTANT bytea :=
        substring(int8send((extract(epoch FROM pawl.clock()) * 1000)::bigint) FROM 3);
BEGIN
    RETURN encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid()) PLACING ms FROM 1 FOR 6),
                                  52, 1), 53, 1), 'hex')::uuid;
END
$$;

-- Returns a lane that this transaction may use, or adds one. A retiring lane gets no further messages.
--
-- The caller already has its transaction id: lane_clean() waits for all transactions that had an id while the
-- lane could still be seen as not retiring. That does not cover a transaction above READ COMMITTED, whose
-- snapshot may be much older than its id. Such a transaction locks the lane so that it is not removed, and does
-- not use a lane that has been removed.
CREATE OR REPLACE FUNCTION pawl.lane_for(topic text, priority bigint, destination text, t timestamptz)
RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    lane bigint;
BEGIN
    IF current_setting('transaction_isolation') = 'read committed' THEN
        SELECT l.id INTO lane FROM pawl.lane l
        WHERE l.topic = lane_for.topic AND l.destination = lane_for.destination
          AND l.priority = lane_for.priority AND NOT l.retiring ORDER BY l.id LIMIT 1;
    ELSE
        BEGIN
            SELECT l.id INTO lane FROM pawl.lane l
            WHERE l.topic = lane_for.topic AND l.destination = lane_for.destination
              AND l.priority = lane_for.priority AND NOT l.retiring ORDER BY l.id LIMIT 1
            FOR KEY SHARE;
        EXCEPTION
            WHEN serialization_failure THEN NULL; -- the lane has been removed
        END;
    END IF;
    IF lane IS NULL THEN
        INSERT INTO pawl.lane (topic, priority, destination)
        VALUES (lane_for.topic, lane_for.priority, lane_for.destination) RETURNING id INTO lane;
        INSERT INTO pawl.lane_use (lane_id, used_at) VALUES (lane, t);
    END IF;
    RETURN lane;
END
$$;

-- The inserts of enqueue_batch(), its only caller, which provides the planner settings. Rows are inserted in
-- array order. A missing lane is added after the bodies, because only new messages need one. Returns the number
-- of new messages.
CREATE OR REPLACE FUNCTION pawl.enqueue_rows(
    ids bigint[], t timestamptz,
    -- @include message_arrays
    ,
    -- @include message_arrays_added
    )
RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    lane    bigint;  -- NULL: the messages are of several lanes, or the lane is missing
    to_wake boolean; -- false: no worker can be idle; otherwise wake() decides
    due     timestamptz;
    expiry  timestamptz;
    stored  bigint;
BEGIN
    IF topics[1] = ALL (topics) AND priorities[1] = ALL (priorities)
       AND (destinations IS NULL -- all are NULL
            OR coalesce(destinations[1], '') = ALL (array_replace(destinations, NULL, ''))) THEN
        to_wake := current_setting('transaction_isolation') <> 'read committed';
        IF NOT to_wake THEN -- avoids a call in the usual case; as in lane_for()
            SELECT l.id, EXISTS (SELECT FROM pawl.idle_worker)
            INTO lane, to_wake FROM pawl.lane l
            WHERE l.topic = topics[1] AND l.destination = coalesce(destinations[1], '')
              AND l.priority = priorities[1] AND NOT l.retiring ORDER BY l.id LIMIT 1;
        END IF;
    END IF;

    -- A single message is the usual case, and cheaper without the set operations.
    IF cardinality(ids) = 1 THEN
        due := coalesce(due_times[1], t + delays[1], t);
        expiry := coalesce(expiries[1], greatest(due, t) + ttls[1]);
        INSERT INTO pawl.body (id, message_id, topic, priority, type, max_attempts, count_all, created_at, due_at,
                               delayed, expires_at, lease, retry_base, retry_max, retry_jitter, timeout, heartbeat,
                               destination, correlation_id, headers, payload, ordering_key, unique_key, tags)
        VALUES (ids[1], message_ids[1], topics[1], priorities[1], types[1], max_attempts[1], count_alls[1], t, due,
                CASE WHEN delays[1] IS NOT NULL THEN true END, expiry,
                pawl.seconds(leases[1]), pawl.seconds(retry_bases[1]), pawl.seconds(retry_maxes[1]),
                pawl.seconds(retry_jitters[1]), pawl.seconds(timeouts[1]), pawl.seconds(heartbeats[1]),
                destinations[1], correlation_ids[1], headers[1]::json, payloads[1],
                ordering_keys[1], unique_keys[1], CASE WHEN tag_lists[1] IS NOT NULL THEN pawl.tag_array(tag_lists[1]) END)
        ON CONFLICT (message_id) DO NOTHING;
        GET DIAGNOSTICS stored = ROW_COUNT;
        IF stored = 1 THEN
            INSERT INTO pawl.queue (id, lane_id, run_at, expires_at, lease)
            VALUES (ids[1],
                    coalesce(lane, pawl.lane_for(topics[1], priorities[1], coalesce(destinations[1], ''), t)),
                    greatest(due, t), expiry, pawl.seconds(leases[1]));
        END IF;
    ELSE
        WITH added AS (
            INSERT INTO pawl.body (id, message_id, topic, priority, type, max_attempts, count_all, created_at,
                                   due_at, delayed, expires_at, lease, retry_base, retry_max, retry_jitter, timeout,
                                   heartbeat, destination, correlation_id, headers, payload, ordering_key,
                                   unique_key, tags)
            SELECT m.id, m.message_id, m.topic, m.priority,
                   m.type, m.max_attempts, m.count_all, t, coalesce(m.due_at, t + m.delay, t),
                   CASE WHEN m.delay IS NOT NULL THEN true END,
                   coalesce(m.expires_at, greatest(coalesce(m.due_at, t + m.delay, t), t) + m.ttl),
                   pawl.seconds(m.lease), pawl.seconds(m.retry_base), pawl.seconds(m.retry_max),
                   pawl.seconds(m.retry_jitter), pawl.seconds(m.timeout), pawl.seconds(m.heartbeat),
                   m.destination, m.correlation_id, m.headers::json, m.payload, m.ordering_key, m.unique_key,
                   CASE WHEN m.tag_list IS NOT NULL THEN pawl.tag_array(m.tag_list) END
            FROM unnest(
                     ids,
                     -- @include message_values
                     )
                 AS m(
                     id,
                     -- @include message_names
                     )
            ON CONFLICT (message_id) DO NOTHING
            RETURNING id, topic, priority, destination, due_at, expires_at, lease),
        used AS MATERIALIZED (
            SELECT d.topic, d.priority, d.destination,
                   pawl.lane_for(d.topic, d.priority, d.destination, t) AS id
            FROM (SELECT DISTINCT a.topic, a.priority, coalesce(a.destination, '') AS destination
                  FROM added a WHERE lane IS NULL) d),
        queued AS (
            INSERT INTO pawl.queue (id, lane_id, run_at, expires_at, lease)
            SELECT a.id, coalesce(lane, u.id), greatest(a.due_at, t), a.expires_at, a.lease
            FROM added a
            LEFT JOIN used u ON u.topic = a.topic AND u.priority = a.priority
                            AND u.destination = coalesce(a.destination, ''))
        SELECT count(*) INTO stored FROM added;
    END IF;
    IF to_wake IS DISTINCT FROM false AND stored > 0 THEN
        PERFORM pawl.wake();
    END IF;
    RETURN stored;
END
$$;

-- Stores new messages of one lane without options: the most common case, at half the cost of the general path.
-- The ids were just generated and cannot exist. Returns position, work id, 0 and the due time.
CREATE OR REPLACE FUNCTION pawl.enqueue_plain(
    positions bigint[], message_ids uuid[], payloads bytea[], topic text, priority bigint,
    type bigint, max_attempts bigint)
RETURNS TABLE (place bigint, work_id bigint, result integer, due timestamptz)
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    xid CONSTANT xid8 := pg_current_xact_id(); -- first, as in enqueue_batch
    t   CONSTANT timestamptz := pawl.clock();
    my_type     CONSTANT bigint := type;
    my_attempts CONSTANT bigint := max_attempts;
    my_topic    CONSTANT text := topic;
    my_priority CONSTANT bigint := priority;
    n       CONSTANT integer := cardinality(message_ids);
    lane    bigint;
    to_wake boolean := current_setting('transaction_isolation') <> 'read committed'; -- as in enqueue_rows
    ids     bigint[];
    problem text;
BEGIN
    -- The checks of check_messages(), reduced to what applies here.
    problem := CASE
        WHEN (n BETWEEN 1 AND @BATCH_MAX@) IS NOT TRUE THEN 'a call must have @BATCH_RANGE@ messages'
        WHEN (n = cardinality(positions) AND n = cardinality(payloads)) IS NOT TRUE
             OR array_position(message_ids, NULL) IS NOT NULL OR array_position(positions, NULL) IS NOT NULL
             OR array_position(payloads, NULL) IS NOT NULL
            THEN 'all arrays must have as many elements as message_ids, none of them NULL'
        WHEN n > 1 AND (SELECT sum(octet_length(m.payload)) FROM unnest(payloads) AS m(payload))
                       > @BATCH_BYTES_MAX@
            THEN 'a call with several messages must have @BATCH_BYTES_RANGE@'
        ELSE pawl.message_problem(
            enqueue_plain.topic, payloads[1], enqueue_plain.type, NULL, NULL, NULL, enqueue_plain.priority,
            NULL, NULL, NULL, NULL, enqueue_plain.max_attempts, NULL, NULL, NULL, NULL, NULL, NULL)
    END;
    IF problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = 'enqueue: ' || problem,
            HINT = 'Nothing was stored.';
    END IF;
    IF NOT to_wake THEN
        SELECT l.id, EXISTS (SELECT FROM pawl.idle_worker)
        INTO lane, to_wake FROM pawl.lane l
        WHERE l.topic = my_topic AND l.destination = '' AND l.priority = my_priority AND NOT l.retiring
        ORDER BY l.id LIMIT 1;
    END IF;
    IF lane IS NULL THEN
        lane := pawl.lane_for(my_topic, my_priority, '', t);
    END IF;
    IF cardinality(message_ids) = 1 THEN
        WITH added AS (
            INSERT INTO pawl.body (message_id, topic, priority, type, max_attempts, created_at, due_at, payload)
            VALUES (message_ids[1], my_topic, my_priority, my_type, my_attempts, t, t, payloads[1])
            RETURNING id)
        INSERT INTO pawl.queue (id, lane_id, run_at) SELECT a.id, lane, t FROM added a
        RETURNING id INTO work_id;
        place := positions[1];
        result := @ENQUEUE_STORED@;
        due := t;
        RETURN NEXT;
    ELSE
        ids := ARRAY(SELECT nextval('pawl.body_id_seq')
                     FROM generate_series(1, cardinality(message_ids)));
        INSERT INTO pawl.body (id, message_id, topic, priority, type, max_attempts, created_at, due_at, payload)
        SELECT m.id, m.message_id, my_topic, my_priority, my_type, my_attempts, t, t, m.payload
        FROM unnest(ids, message_ids, payloads) AS m(id, message_id, payload);
        INSERT INTO pawl.queue (id, lane_id, run_at) SELECT m.id, lane, t FROM unnest(ids) AS m(id);
        RETURN QUERY SELECT m.place, m.id, @ENQUEUE_STORED@, t FROM unnest(positions, ids) AS m(place, id);
    END IF;
    IF to_wake IS DISTINCT FROM false THEN
        PERFORM pawl.wake();
    END IF;
END
$$;

-- Stores the messages of the arrays, all or none. Returns position, work id, result and due time. The results
-- are 0 stored; 1 exists with the same topic and payload; 2 exists with other content; 3 another open
-- transaction is sending the same id (or, above READ COMMITTED, sent it after this one began). With 2 or 3
-- nothing of the call is stored, and only those rows are returned.
--
-- fresh: every id was just generated and cannot exist. Otherwise nothing here may wait for long or fail: the
-- caller may be inside an application transaction that sends A then B while another one sends B then A. A wait
-- on the unique index ends after lock_timeout, which is below deadlock_timeout, and the subtransaction undoes
-- this call and nothing else.
CREATE OR REPLACE FUNCTION pawl.enqueue_batch(
    positions bigint[],
    -- @include message_arrays
    , fresh boolean DEFAULT false,
    -- @include message_arrays_added
    )
RETURNS TABLE (place bigint, work_id bigint, result integer, due timestamptz)
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    -- The transaction id first, then the clock: once this transaction is seen as finished, no earlier run_at of
    -- it can still appear.
    xid CONSTANT xid8 := pg_current_xact_id();
    t   CONSTANT timestamptz := pawl.clock();
    n   CONSTANT bigint := coalesce(cardinality(message_ids), 0);
    patience text;
    ids      bigint[];
    existing bigint[];
    results  integer[];
    dues     timestamptz[]; -- of the existing messages
BEGIN
    PERFORM pawl.check_messages(
        positions,
        -- @include message_values
        );
    ids := ARRAY(SELECT nextval('pawl.body_id_seq') FROM generate_series(1, n));
    existing := ids;
    IF fresh THEN
        PERFORM pawl.enqueue_rows(
            ids, t,
            -- @include message_values
            );
        RETURN QUERY
            SELECT m.place, m.id, @ENQUEUE_STORED@, coalesce(m.due_at, t + m.delay, t)
            FROM unnest(positions, ids, due_times, delays) AS m(place, id, due_at, delay);
        RETURN;
    END IF;

    patience := current_setting('lock_timeout');
    BEGIN
        PERFORM set_config('lock_timeout', '200ms', true); -- a failing block restores it
        IF pawl.enqueue_rows(
               ids, t,
               -- @include message_values
               ) < n
        THEN
            -- A row that retention has just removed yields 3: the next attempt stores it.
            SELECT array_agg(b.id ORDER BY m.place),
                   array_agg(CASE WHEN b.id = m.id THEN @ENQUEUE_STORED@
                                  WHEN b.id IS NULL THEN @ENQUEUE_BUSY@
                                  WHEN b.topic = m.topic AND b.payload = m.payload THEN @ENQUEUE_EXISTED@
                                  ELSE @ENQUEUE_CONFLICT@ END ORDER BY m.place),
                   array_agg(b.due_at ORDER BY m.place)
            INTO existing, results, dues
            FROM unnest(ids, message_ids, topics, payloads) WITH ORDINALITY
                 AS m(id, message_id, topic, payload, place)
            LEFT JOIN LATERAL (SELECT e.id, e.topic, e.payload, e.due_at
                               FROM pawl.body e
                               WHERE e.message_id = m.message_id LIMIT 1) b ON true;
            IF @ENQUEUE_CONFLICT@ = ANY (results) OR @ENQUEUE_BUSY@ = ANY (results) THEN
                RAISE EXCEPTION USING ERRCODE = 'PW000', MESSAGE = 'undo the batch';
            END IF;
        END IF;
        PERFORM set_config('lock_timeout', patience, true);
    EXCEPTION
        WHEN SQLSTATE 'PW000' THEN NULL;
        WHEN lock_not_available OR deadlock_detected OR serialization_failure THEN
            existing := NULL;
            results := array_fill(@ENQUEUE_BUSY@, ARRAY[n::integer]);
    END;

    RETURN QUERY
        SELECT m.place, m.id, coalesce(m.result, @ENQUEUE_STORED@), coalesce(m.stored, m.due_at, t + m.delay, t)
        FROM unnest(positions, existing, results, dues, due_times, delays)
             AS m(place, id, result, stored, due_at, delay)
        WHERE coalesce(m.result, @ENQUEUE_STORED@)
              >= CASE WHEN @ENQUEUE_CONFLICT@ = ANY (results) OR @ENQUEUE_BUSY@ = ANY (results)
                      THEN @ENQUEUE_CONFLICT@ ELSE @ENQUEUE_STORED@ END;
END
$$;

-- Enqueues one message, for psql and any language. Returns the message id. With an explicit message id the call
-- is safe to repeat: the same id with the same topic and payload is stored once.
CREATE OR REPLACE FUNCTION pawl.enqueue(
    topic text, payload bytea,
    -- @include message_options
    )
RETURNS uuid
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_variable
DECLARE
    fresh   CONSTANT boolean := message_id IS NULL;
    chosen  CONSTANT uuid := coalesce(message_id, pawl.new_message_id());
    type_id CONSTANT integer := CASE lower(type) WHEN 'signal' THEN @TYPE_SIGNAL@ WHEN 'command' THEN @TYPE_COMMAND@
                                                 WHEN 'push_call' THEN @TYPE_PUSH_CALL@ WHEN 'response' THEN @TYPE_RESPONSE@ END;
    counts  CONSTANT boolean := CASE WHEN destination IS NOT NULL THEN count_all END;
    -- every send counts, and the message has no backoff policy of its own
    every_send CONSTANT boolean := counts IS TRUE
        AND retry_base IS NULL AND retry_max IS NULL AND retry_jitter IS NULL;
    answer  integer;
BEGIN
    -- enqueue_batch() checks it.
    SELECT e.result INTO answer FROM pawl.enqueue_batch(
        ARRAY[0::bigint], ARRAY[chosen], ARRAY[topic], ARRAY[payload], ARRAY[type_id::bigint],
        ARRAY[destination], ARRAY[headers::text], ARRAY[nullif(correlation_id, '')],
        ARRAY[priority::bigint], ARRAY[due_at], ARRAY[delay], ARRAY[expires_at],
        ARRAY[CASE WHEN destination IS NOT NULL THEN interval '@TTL_REMOTE@ milliseconds' END],
        ARRAY[coalesce(max_attempts, CASE WHEN destination IS NULL THEN @ATTEMPTS_LOCAL@
                                    WHEN counts THEN @ATTEMPTS_COUNTED@ ELSE @ATTEMPTS_REMOTE@ END)::bigint],
        ARRAY[lease],
        ARRAY[CASE WHEN every_send THEN interval '@BACKOFF_COUNTED_BASE@ milliseconds' ELSE retry_base END],
        ARRAY[CASE WHEN every_send THEN interval '@BACKOFF_COUNTED_MOST@ milliseconds' ELSE retry_max END],
        ARRAY[CASE WHEN every_send THEN interval '@BACKOFF_COUNTED_JITTER@ milliseconds' WHEN retry_base IS NULL THEN retry_jitter
                   ELSE coalesce(retry_jitter, interval '0') END],
        ARRAY[timeout], ARRAY[heartbeat], fresh, ARRAY[counts],
        CASE WHEN ordering_key IS NOT NULL THEN ARRAY[ordering_key] END,
        CASE WHEN unique_key IS NOT NULL THEN ARRAY[unique_key] END,
        CASE WHEN cardinality(tags) > 0 THEN ARRAY[array_to_json(tags)::text] END) e;
    IF answer = @ENQUEUE_CONFLICT@ THEN
        RAISE EXCEPTION USING ERRCODE = 'unique_violation',
            MESSAGE = format('enqueue: message id %s exists with another topic or payload', chosen),
            HINT = 'Nothing was stored. A message id identifies one message permanently.';
    ELSIF answer = @ENQUEUE_BUSY@ THEN
        RAISE EXCEPTION USING ERRCODE = 'lock_not_available',
            MESSAGE = format('enqueue: another transaction is sending message id %s', chosen),
            HINT = 'Nothing was stored. Retry after that transaction has ended.';
    END IF;
    RETURN chosen;
END
$$;

-- The payload as text, stored as UTF-8. Quoted literals resolve to this overload.
CREATE OR REPLACE FUNCTION pawl.enqueue(
    topic text, payload text,
    -- @include message_options
    )
-- @include enqueue_bytes payload=payload

-- The payload as jsonb, stored as its text.
CREATE OR REPLACE FUNCTION pawl.enqueue(
    topic text, payload jsonb,
    -- @include message_options
    )
-- @include enqueue_bytes payload=payload::text

-- Argument checks. The library checks its arguments itself; these functions can also be called from elsewhere.
-- The bounds are those of src/base/bounds.h, which the build substitutes for @...@.
--
-- An interval is measured with extract(epoch) and stored as seconds: '290000 years -105920000 days' is nearly
-- zero by that measure and in every comparison, but added to a time it can leave the range of timestamps on a
-- later day, in another caller's claim.

-- Raises invalid_parameter_value unless the value is within the bounds, in milliseconds. `argument` appears in
-- the message as "function: argument".
CREATE OR REPLACE FUNCTION pawl.check_span(argument text, value interval, least_ms bigint, most_ms bigint, words text)
RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF (date_part('epoch', value) * 1000 BETWEEN least_ms AND most_ms) IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = format('%s must be %s', argument, words), HINT = 'Nothing was changed.';
    END IF;
END
$$;

-- The same check for a number.
CREATE OR REPLACE FUNCTION pawl.check_number(argument text, value bigint, lowest bigint, highest bigint, words text)
RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF (value BETWEEN lowest AND highest) IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = format('%s must be %s', argument, words), HINT = 'Nothing was changed.';
    END IF;
END
$$;

-- Truncates an error text to its maximum length, as the library does.
CREATE OR REPLACE FUNCTION pawl.cut_text(value text) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    kept text := value;
BEGIN
    IF octet_length(value) > @TEXT_MAX@ THEN
        kept := left(value, @TEXT_MAX@);
        WHILE octet_length(kept) > @TEXT_MAX@ LOOP
            kept := left(kept, -(octet_length(kept) - @TEXT_MAX@ + 3) / 4);
        END LOOP;
    END IF;
    RETURN kept;
END
$$;

-- min(base * 2^doublings, most), computed in numbers that cannot overflow: an interval overflows at about
-- 290,000 years, long before it could be capped. Whatever is stored, the result is between 0 and the longest
-- backoff that a policy may have.
CREATE OR REPLACE FUNCTION pawl.backoff(base interval, most interval, doublings integer) RETURNS interval
LANGUAGE sql IMMUTABLE AS $$
    SELECT make_interval(secs => greatest(0, least(
        date_part('epoch', base) * power(2::double precision, greatest(0, least(doublings, 100))),
        date_part('epoch', most), @BACKOFF_MAX@ / 1000)))
$$;

-- The tags of a message, from a JSON array. Not called without one: a message without tags costs nothing.
CREATE OR REPLACE FUNCTION pawl.tag_array(tag_list text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN nullif(ARRAY(SELECT t.tag FROM json_array_elements_text(tag_list::json) WITH ORDINALITY AS t(tag, place)
                        ORDER BY t.place), '{}');
END
$$;

-- Whether such an array is within the bounds.
CREATE OR REPLACE FUNCTION pawl.tags_fit(tag_list text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF jsonb_typeof(tag_list::jsonb) <> 'array' THEN
        RETURN false;
    END IF;
    RETURN jsonb_array_length(tag_list::jsonb) <= @TAGS_MAX@
        AND NOT EXISTS (SELECT FROM jsonb_array_elements(tag_list::jsonb) AS t(tag)
                        WHERE jsonb_typeof(t.tag) <> 'string'
                           OR char_length(t.tag #>> '{}') NOT BETWEEN @TAG_MIN@ AND @TAG_MAX@);
END
$$;

-- Returns why a message is invalid, or NULL if it is valid.
CREATE OR REPLACE FUNCTION pawl.message_problem(
    topic text, payload bytea, type bigint, destination text, headers text, correlation_id text,
    priority bigint, due_at timestamptz, delay interval, expires_at timestamptz, ttl interval,
    max_attempts bigint, lease interval, retry_base interval, retry_max interval, retry_jitter interval,
    timeout interval, heartbeat interval, count_all boolean DEFAULT NULL, ordering_key text DEFAULT NULL,
    unique_key text DEFAULT NULL, tag_list text DEFAULT NULL)
RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN (char_length(topic) BETWEEN @TOPIC_MIN@ AND @TOPIC_MAX@) IS NOT TRUE
            THEN 'topic must have @TOPIC_RANGE@'
        WHEN (octet_length(payload) <= @PAYLOAD_MAX@) IS NOT TRUE
            THEN 'payload must not be NULL and have @PAYLOAD_RANGE@'
        WHEN (type BETWEEN @TYPE_MIN@ AND @TYPE_MAX@) IS NOT TRUE
            THEN 'type must be signal, command, push_call or response (0 to 3)'
        WHEN octet_length(destination) NOT BETWEEN @DESTINATION_MIN@ AND @DESTINATION_MAX@
            THEN 'destination must have @DESTINATION_RANGE@'
        WHEN octet_length(headers) > @HEADERS_MAX@ THEN 'headers must be @HEADERS_RANGE@'
        -- jsonb also rejects \u0000, which PostgreSQL's text type cannot store.
        WHEN jsonb_typeof(headers::jsonb) <> 'object' THEN 'headers must be @HEADERS_RANGE@'
        WHEN char_length(correlation_id) NOT BETWEEN @CORRELATION_MIN@ AND @CORRELATION_MAX@
            THEN 'correlation_id must have @CORRELATION_RANGE@'
        WHEN (priority BETWEEN @PRIORITY_MIN@ AND @PRIORITY_MAX@) IS NOT TRUE
            THEN 'priority must be @PRIORITY_RANGE@'
        WHEN destination IS NULL AND (max_attempts BETWEEN @ATTEMPTS_MIN@ AND @ATTEMPTS_MAX@) IS NOT TRUE
            THEN 'max_attempts must be @ATTEMPTS_RANGE@'
        WHEN (max_attempts BETWEEN @REMOTE_ATTEMPTS_MIN@ AND @REMOTE_ATTEMPTS_MAX@) IS NOT TRUE
            THEN 'max_attempts must be @REMOTE_ATTEMPTS_RANGE@'
        WHEN count_all AND max_attempts < @ATTEMPTS_MIN@
            THEN 'max_attempts must be @ATTEMPTS_RANGE@ where every send counts'
        WHEN due_at IS NOT NULL AND delay IS NOT NULL THEN 'due_at and delay exclude each other'
        WHEN due_at NOT BETWEEN timestamptz 'epoch' + interval '@TIME_MIN@ milliseconds'
                            AND timestamptz 'epoch' + interval '@TIME_MAX@ milliseconds' + interval '999 microseconds'
            THEN 'due_at must be @TIME_RANGE@'
        WHEN expires_at NOT BETWEEN timestamptz 'epoch'
                                AND timestamptz 'epoch' + interval '@TIME_MAX@ milliseconds' + interval '999 microseconds'
            THEN 'expires_at must be @EXPIRY_RANGE@'
        WHEN expires_at <= due_at THEN 'expires_at must be after due_at'
        WHEN date_part('epoch', delay) * 1000 NOT BETWEEN @DELAY_MIN@ AND @DELAY_MAX@
            THEN 'delay must be @DELAY_RANGE@'
        WHEN date_part('epoch', ttl) * 1000 NOT BETWEEN @TTL_MIN@ AND @TTL_MAX@
            THEN 'ttl must be @TTL_RANGE@'
        WHEN date_part('epoch', lease) * 1000 NOT BETWEEN @LEASE_MIN@ AND @LEASE_MAX@
            THEN 'lease must be @LEASE_RANGE@'
        WHEN (retry_base IS NULL) <> (retry_max IS NULL) THEN 'retry_base and retry_max go together'
        WHEN retry_base IS NULL AND retry_jitter IS NOT NULL
            THEN 'retry_jitter needs retry_base and retry_max'
        WHEN date_part('epoch', retry_base) * 1000 NOT BETWEEN @BACKOFF_MIN@ AND @BACKOFF_MAX@
            THEN 'retry_base must be @BACKOFF_RANGE@'
        WHEN date_part('epoch', retry_max) * 1000 NOT BETWEEN @BACKOFF_MIN@ AND @BACKOFF_MAX@
            THEN 'retry_max must be @BACKOFF_RANGE@'
        WHEN date_part('epoch', retry_max) < date_part('epoch', retry_base)
            THEN 'retry_max must not be below retry_base'
        WHEN date_part('epoch', retry_jitter) * 1000 NOT BETWEEN @JITTER_MIN@ AND @JITTER_MAX@
            THEN 'retry_jitter must be @JITTER_RANGE@'
        WHEN date_part('epoch', timeout) * 1000 NOT BETWEEN @LEASE_MIN@ AND @LEASE_MAX@
            THEN 'timeout must be @LEASE_RANGE@'
        WHEN date_part('epoch', heartbeat) * 1000 NOT BETWEEN @LEASE_MIN@ AND @LEASE_MAX@
            THEN 'heartbeat must be @LEASE_RANGE@'
        WHEN date_part('epoch', heartbeat) >= date_part('epoch', lease)
            THEN 'heartbeat must be shorter than lease'
        WHEN char_length(ordering_key) NOT BETWEEN @ORDERING_KEY_MIN@ AND @ORDERING_KEY_MAX@
            THEN 'ordering_key must have @ORDERING_KEY_RANGE@'
        WHEN char_length(unique_key) NOT BETWEEN @UNIQUE_KEY_MIN@ AND @UNIQUE_KEY_MAX@
            THEN 'unique_key must have @UNIQUE_KEY_RANGE@'
        WHEN tag_list IS NOT NULL AND NOT pawl.tags_fit(tag_list) THEN 'tags must be @TAGS_RANGE@'
    END
$$;

-- Normalizes an interval to seconds, the form that is stored.
CREATE OR REPLACE FUNCTION pawl.seconds(span interval) RETURNS interval
LANGUAGE sql IMMUTABLE AS $$
    SELECT make_interval(secs => date_part('epoch', span))
$$;

-- Checks the arrays of enqueue_batch(): equal lengths (or NULL), at most the maximum number, and only valid
-- messages.
CREATE OR REPLACE FUNCTION pawl.check_messages(
    positions bigint[],
    -- @include message_arrays
    ,
    -- @include message_arrays_added
    )
RETURNS void
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    n CONSTANT integer := cardinality(message_ids);
    problem text;
BEGIN
    IF (n BETWEEN 1 AND @BATCH_MAX@) IS NOT TRUE THEN
        problem := 'a call must have @BATCH_RANGE@ messages';
    ELSIF (n = ALL (ARRAY[cardinality(positions), cardinality(topics), cardinality(payloads),
                          cardinality(types), cardinality(priorities), cardinality(max_attempts)])) IS NOT TRUE
          OR n <> ANY (ARRAY[cardinality(destinations), cardinality(headers), cardinality(correlation_ids),
                             cardinality(due_times), cardinality(delays), cardinality(expiries),
                             cardinality(ttls), cardinality(leases), cardinality(retry_bases),
                             cardinality(retry_maxes), cardinality(retry_jitters), cardinality(timeouts),
                             cardinality(heartbeats), cardinality(count_alls), cardinality(ordering_keys),
                             cardinality(unique_keys), cardinality(tag_lists)])
          OR array_position(message_ids, NULL) IS NOT NULL OR array_position(positions, NULL) IS NOT NULL THEN
        problem := 'all arrays must have as many elements as message_ids, which must not be NULL';
    ELSIF n = 1 THEN
        problem := pawl.message_problem(
            topics[1], payloads[1], types[1], destinations[1], headers[1], correlation_ids[1], priorities[1],
            due_times[1], delays[1], expiries[1], ttls[1], max_attempts[1], leases[1], retry_bases[1],
            retry_maxes[1], retry_jitters[1], timeouts[1], heartbeats[1], count_alls[1], ordering_keys[1],
            unique_keys[1], tag_lists[1]);
    ELSIF (SELECT sum(octet_length(m.payload)) FROM unnest(payloads) AS m(payload)) > @BATCH_BYTES_MAX@ THEN
        problem := 'a call with several messages must have @BATCH_BYTES_RANGE@';
    ELSE
        SELECT format('message %s: %s', m.place, m.problem) INTO problem
        FROM (SELECT u.place, pawl.message_problem(
                         u.topic, u.payload, u.type, u.destination, u.headers, u.correlation_id, u.priority,
                         u.due_at, u.delay, u.expires_at, u.ttl, u.max_attempts, u.lease, u.retry_base,
                         u.retry_max, u.retry_jitter, u.timeout, u.heartbeat, u.count_all, u.ordering_key,
                         u.unique_key, u.tag_list) AS problem
              FROM unnest(
                       -- @include message_values
                       ) WITH ORDINALITY AS u(
                       -- @include message_names
                       , place)) m
        WHERE m.problem IS NOT NULL LIMIT 1;
    END IF;
    IF problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = 'enqueue: ' || problem,
            HINT = 'Nothing was stored.';
    END IF;
END
$$;

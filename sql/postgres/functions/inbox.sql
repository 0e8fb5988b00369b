-- The inbox: messages received from other services, processed once. docs/internals/inbox.md
--
-- From any language, in a transaction of your own (atomic):
--   SELECT * FROM pawl.inbox_begin('shop', 'order-17', hash => sha256(...));  -- continue if answer = 'new'
--   ... your own statements ...
--   SELECT pawl.inbox_done('shop', 'order-17', fence, response => '...');     -- fails if the attempt is not yours
-- or around an external call (call-out): commit the first by itself, make the call, then commit the last by
-- itself.

-- Takes the lock of a key that has no record yet until the end of the transaction, or returns false at once. A
-- transaction that inserts a key holds this lock, so that no other transaction waits on the unique index. Any
-- database user may take any advisory lock, so the lock number is one that only this schema's functions can
-- compute.
CREATE OR REPLACE FUNCTION pawl.inbox_lock(source text, id text) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN (SELECT pg_try_advisory_xact_lock(('x' || left(encode(sha256(
                       m.lock_secret || int4send(octet_length(inbox_lock.source))
                       || convert_to(inbox_lock.source, 'UTF8') || convert_to(inbox_lock.id, 'UTF8')),
                       'hex'), 16))::bit(64)::bigint)
            FROM pawl.meta m);
END
$$;

CREATE OR REPLACE FUNCTION pawl.inbox_check(source text, id text, hash bytea) RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF coalesce(char_length(source), 0) NOT BETWEEN @INBOX_KEY_MIN@ AND @INBOX_KEY_MAX@
       OR coalesce(char_length(id), 0) NOT BETWEEN @INBOX_KEY_MIN@ AND @INBOX_KEY_MAX@ THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = 'inbox: source and id must have @INBOX_KEY_RANGE@ each';
    ELSIF octet_length(hash) <> 32 THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = 'inbox: hash must be a SHA-256, 32 bytes';
    END IF;
END
$$;

-- Begins to process a delivery. `answer`:
--   new          the attempt is yours: process the message, then call inbox_done() or inbox_fail() with `fence`
--   duplicate    it was processed before; `response` is the cached response
--   in_progress  another attempt is running; ask again after `retry_after`
--   conflict     the key exists with other content; nothing was written
--   dead         it has used up its attempts, or was failed permanently
--   suspect      only with alone => false: an attempt did not end and may have crashed its receiver. Ask again
--                with alone => true when no other suspect runs in your process
-- `idempotency_key` is the same for all attempts. All writes are part of your transaction: the attempt is
-- counted only if it commits. After a rollback, inbox_fail() without a fence counts it.
--
-- An attempt that did not end makes its message a suspect. The first such attempt does not count, since it ran
-- beside others, any of which may have crashed the process. All later attempts run alone, and count. `holder`
-- identifies the caller. A caller that asks again while it holds the message gets another attempt instead of
-- 'in_progress'.
CREATE OR REPLACE FUNCTION pawl.inbox_begin(
    source       text,
    id           text,
    hash         bytea    DEFAULT NULL,
    lease        interval DEFAULT interval '@LEASE_DEFAULT@ milliseconds',
    max_attempts bigint   DEFAULT @INBOX_ATTEMPTS_DEFAULT@,
    keep         interval DEFAULT interval '@INBOX_KEEP_DEFAULT@ milliseconds',
    endpoint     text     DEFAULT NULL,
    alone        boolean  DEFAULT true,
    holder       text     DEFAULT NULL)
RETURNS TABLE (answer text, attempt integer, fence bigint, idempotency_key text, retry_after interval,
               response bytea, error text)
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
    r      pawl.inbox_record;
    there  boolean;
    locked boolean := false;
    is_holder boolean := false; -- the caller holds it
    broken boolean := false; -- an earlier attempt did not end
BEGIN
    PERFORM pawl.inbox_check(inbox_begin.source, inbox_begin.id, inbox_begin.hash);
    PERFORM pawl.check_span('inbox_begin: lease', inbox_begin.lease, @LEASE_MIN@, @LEASE_MAX@, '@LEASE_RANGE@');
    PERFORM pawl.check_span('inbox_begin: keep', inbox_begin.keep, @INBOX_KEEP_MIN@, @INBOX_KEEP_MAX@, '@INBOX_KEEP_RANGE@');
    PERFORM pawl.check_number('inbox_begin: max_attempts', inbox_begin.max_attempts,
                              @ATTEMPTS_MIN@, @ATTEMPTS_MAX@, '@ATTEMPTS_RANGE@');
    PERFORM pawl.check_number('inbox_begin: the length of endpoint', char_length(coalesce(inbox_begin.endpoint, '-')),
                              @INBOX_KEY_MIN@, @INBOX_KEY_MAX@, '@INBOX_KEY_RANGE@');
    idempotency_key := replace(replace(inbox_begin.source, '%', '%25'), ':', '%3A') || ':' || inbox_begin.id;
    SELECT * INTO r FROM pawl.inbox_record i
    WHERE i.source = inbox_begin.source AND i.id = inbox_begin.id;
    there := FOUND;

    -- It looks available. Check again under the lock.
    IF NOT there OR (r.state < @INBOX_DONE@ AND (r.lease_until <= t OR r.holder = inbox_begin.holder)
                     AND (r.hash <> inbox_begin.hash) IS NOT TRUE) THEN
        locked := there OR pawl.inbox_lock(inbox_begin.source, inbox_begin.id);
        IF locked THEN
            SELECT * INTO r FROM pawl.inbox_record i
            WHERE i.source = inbox_begin.source AND i.id = inbox_begin.id
            FOR UPDATE SKIP LOCKED;
            IF FOUND THEN
                there := true;
            ELSIF there THEN
                locked := false; -- its attempt is just ending, or lasts longer than its lease
            END IF;
        END IF;
        IF NOT locked THEN
            answer := 'in_progress';
            attempt := coalesce(r.attempts, 0);
            retry_after := interval '1 second';
            RETURN NEXT;
            RETURN;
        END IF;
    END IF;

    IF NOT there THEN
        fence := nextval('pawl.fence');
        INSERT INTO pawl.inbox_record (source, id, state, attempts, max_attempts, fence, lease_until,
                                       first_seen, last_seen, expires_at, hash, endpoint, holder)
        VALUES (inbox_begin.source, inbox_begin.id, @INBOX_PROCESSING@, 1, inbox_begin.max_attempts, fence,
                t + inbox_begin.lease, t, t, t + inbox_begin.keep, inbox_begin.hash,
                inbox_begin.endpoint, inbox_begin.holder)
        ON CONFLICT (source, id) DO NOTHING;
        IF FOUND THEN
            answer := 'new';
            attempt := 1;
        ELSE
            answer := 'in_progress';
            fence := NULL;
            retry_after := interval '1 second';
        END IF;
        RETURN NEXT;
        RETURN;
    END IF;

    attempt := r.attempts;
    error := r.error;
    is_holder := (r.state = @INBOX_PROCESSING@ AND r.holder = inbox_begin.holder) IS TRUE;
    broken := r.suspect OR (r.state = @INBOX_PROCESSING@ AND NOT is_holder);
    IF r.hash <> inbox_begin.hash THEN
        answer := 'conflict';
    ELSIF r.state >= @INBOX_DONE@ THEN
        answer := CASE r.state WHEN @INBOX_DONE@ THEN 'duplicate' ELSE 'dead' END;
        response := CASE r.state WHEN @INBOX_DONE@ THEN r.response END;
        UPDATE pawl.inbox_record i
        SET last_seen = t, duplicates = i.duplicates + (i.state = @INBOX_DONE@)::integer
        WHERE i.number = (SELECT l.number FROM pawl.inbox_record l
                          WHERE l.number = r.number FOR UPDATE SKIP LOCKED);
    ELSIF NOT locked OR (r.state = @INBOX_PROCESSING@ AND r.lease_until > t AND NOT is_holder) THEN
        answer := 'in_progress';
        -- The lease limits how long the receiver may take, not when the attempt ends.
        retry_after := least(greatest(r.lease_until - t, interval '1 millisecond'), interval '2 seconds');
    ELSIF r.attempts - broken::integer >= inbox_begin.max_attempts THEN
        answer := 'dead';
        error := coalesce(r.error, 'the last attempt did not end');
        UPDATE pawl.inbox_record i
        SET state = @INBOX_DEAD@, lease_until = 'epoch', expires_at = NULL, last_seen = t,
            error = coalesce(i.error, 'the last attempt did not end')
        WHERE i.number = r.number;
    ELSIF broken AND NOT inbox_begin.alone THEN
        answer := 'suspect';
    ELSE
        answer := 'new';
        attempt := r.attempts + 1;
        fence := nextval('pawl.fence');
        UPDATE pawl.inbox_record i
        SET state = @INBOX_PROCESSING@, attempts = i.attempts + 1, max_attempts = inbox_begin.max_attempts,
            suspect = broken, holder = inbox_begin.holder, fence = inbox_begin.fence, lease_until = t + inbox_begin.lease, last_seen = t,
            expires_at = t + inbox_begin.keep, hash = coalesce(i.hash, inbox_begin.hash),
            endpoint = coalesce(inbox_begin.endpoint, i.endpoint)
        WHERE i.number = r.number;
    END IF;
    RETURN NEXT;
END
$$;

-- For the library, inside the transaction of an atomic attempt that was begun under `fence`: whether the caller
-- still owns the attempt. If so, it stays the owner until the end of the transaction. The record's row decides,
-- because a takeover locks the row without waiting. Another delivery of the message may have the row locked for
-- a moment; the key's lock does not matter here.
CREATE OR REPLACE FUNCTION pawl.inbox_lease(source text, id text, fence bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET lock_timeout = '1s'
-- @include index_plan
AS $$
#variable_conflict use_column
BEGIN
    PERFORM FROM pawl.inbox_record i
    WHERE i.source = inbox_lease.source AND i.id = inbox_lease.id AND i.state = @INBOX_PROCESSING@
      AND i.fence = inbox_lease.fence
    FOR NO KEY UPDATE;
    RETURN FOUND;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END
$$;

-- For the library: inbox_done() that returns a result instead of raising an error.
CREATE OR REPLACE FUNCTION pawl.inbox_finish(
    source text, id text, fence bigint, response bytea, keep interval)
RETURNS boolean
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
BEGIN
    PERFORM pawl.check_span('inbox_finish: keep', inbox_finish.keep, @INBOX_KEEP_MIN@, @INBOX_KEEP_MAX@, '@INBOX_KEEP_RANGE@');
    PERFORM pawl.check_number('inbox_finish: the size of response', octet_length(coalesce(inbox_finish.response, '')),
                              0, @PAYLOAD_MAX@, '@PAYLOAD_RANGE@');
    UPDATE pawl.inbox_record i
    SET state = @INBOX_DONE@, lease_until = 'epoch', processed_at = t, last_seen = t,
        expires_at = t + inbox_finish.keep, error = NULL, response = inbox_finish.response
    WHERE i.source = inbox_finish.source AND i.id = inbox_finish.id AND i.state IN (@INBOX_UNFINISHED@)
      AND (inbox_finish.fence IS NULL OR (i.state = @INBOX_PROCESSING@ AND i.fence = inbox_finish.fence));
    RETURN FOUND;
END
$$;

-- Marks the message as processed and stores its response. Called in the same transaction as the message's
-- effects, it makes both happen exactly once: if the attempt is no longer yours, or the message is already
-- finished, it fails, and your transaction with it. Without a fence the first caller wins.
CREATE OR REPLACE FUNCTION pawl.inbox_done(
    source   text,
    id       text,
    fence    bigint   DEFAULT NULL,
    response bytea    DEFAULT NULL,
    keep     interval DEFAULT interval '@INBOX_KEEP_DEFAULT@ milliseconds')
RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF NOT pawl.inbox_finish(inbox_done.source, inbox_done.id, inbox_done.fence, inbox_done.response,
                             inbox_done.keep) THEN
        RAISE EXCEPTION USING ERRCODE = 'PW001',
            MESSAGE = 'inbox_done: the message is no longer held under this fence, or was already processed',
            HINT = 'Roll back to discard the effects of this attempt.';
    END IF;
END
$$;

-- Records a failed attempt. The next delivery may retry at once, unless this was the last attempt or `dead` is
-- set. Returns whether anything changed. Without a fence it counts an attempt itself, for a transaction that
-- began with inbox_begin() and was rolled back.
CREATE OR REPLACE FUNCTION pawl.inbox_fail(
    source text,
    id     text,
    fence  bigint   DEFAULT NULL,
    error  text     DEFAULT NULL,
    dead   boolean  DEFAULT false,
    keep   interval DEFAULT interval '@INBOX_KEEP_DEFAULT@ milliseconds')
RETURNS boolean
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
    token bigint := inbox_fail.fence;
BEGIN
    PERFORM pawl.check_span('inbox_fail: keep', inbox_fail.keep, @INBOX_KEEP_MIN@, @INBOX_KEEP_MAX@, '@INBOX_KEEP_RANGE@');
    IF token IS NULL THEN
        token := (SELECT b.fence FROM pawl.inbox_begin(inbox_fail.source, inbox_fail.id) b
                  WHERE b.answer = 'new');
        IF token IS NULL THEN
            RETURN false;
        END IF;
    END IF;
    RETURN pawl.inbox_give_up(inbox_fail.source, inbox_fail.id, token, inbox_fail.error,
                              inbox_fail.dead, inbox_fail.keep);
END
$$;

-- For the library: inbox_fail() that counts no attempt. Without a fence it ends any current attempt.
CREATE OR REPLACE FUNCTION pawl.inbox_give_up(
    source text, id text, fence bigint, error text, dead boolean, keep interval)
RETURNS boolean
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
BEGIN
    PERFORM pawl.check_span('inbox_give_up: keep', inbox_give_up.keep, @INBOX_KEEP_MIN@, @INBOX_KEEP_MAX@, '@INBOX_KEEP_RANGE@');
    UPDATE pawl.inbox_record i
    SET state = CASE WHEN dead OR i.attempts - i.suspect::integer >= i.max_attempts THEN @INBOX_DEAD@
                     ELSE @INBOX_SEEN@ END,
        lease_until = 'epoch', error = coalesce(pawl.cut_text(inbox_give_up.error), i.error),
        expires_at = CASE WHEN dead OR i.attempts - i.suspect::integer >= i.max_attempts THEN NULL
                          ELSE t + inbox_give_up.keep END
    WHERE i.source = inbox_give_up.source AND i.id = inbox_give_up.id AND i.state IN (@INBOX_UNFINISHED@)
      AND (inbox_give_up.fence IS NULL OR (i.state = @INBOX_PROCESSING@ AND i.fence = inbox_give_up.fence));
    RETURN FOUND;
END
$$;

-- For the library: gives back an attempt that was not made; it does not count.
CREATE OR REPLACE FUNCTION pawl.inbox_release(source text, id text, fence bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
BEGIN
    UPDATE pawl.inbox_record i
    SET state = @INBOX_SEEN@, attempts = i.attempts - 1, lease_until = 'epoch'
    WHERE i.source = inbox_release.source AND i.id = inbox_release.id AND i.state = @INBOX_PROCESSING@
      AND i.fence = inbox_release.fence;
    RETURN FOUND;
END
$$;

-- Extends the attempt's lease to `lease` from now. Returns false if the attempt is no longer yours.
CREATE OR REPLACE FUNCTION pawl.inbox_renew(
    source text, id text, fence bigint, lease interval DEFAULT interval '@LEASE_DEFAULT@ milliseconds')
RETURNS boolean
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
BEGIN
    PERFORM pawl.check_span('inbox_renew: lease', inbox_renew.lease, @LEASE_MIN@, @LEASE_MAX@, '@LEASE_RANGE@');
    UPDATE pawl.inbox_record i
    SET lease_until = t + inbox_renew.lease, expires_at = greatest(i.expires_at, t + inbox_renew.lease)
    WHERE i.source = inbox_renew.source AND i.id = inbox_renew.id AND i.state = @INBOX_PROCESSING@
      AND i.fence = inbox_renew.fence;
    RETURN FOUND;
END
$$;

-- Records that the message was seen, nothing else. Returns its state, and whether the key exists with other
-- content, in which case nothing was written.
CREATE OR REPLACE FUNCTION pawl.inbox_seen(
    source       text,
    id           text,
    hash         bytea    DEFAULT NULL,
    max_attempts bigint   DEFAULT @INBOX_ATTEMPTS_DEFAULT@,
    keep         interval DEFAULT interval '@INBOX_KEEP_DEFAULT@ milliseconds')
RETURNS TABLE (state smallint, conflict boolean)
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
    r pawl.inbox_record;
BEGIN
    PERFORM pawl.inbox_check(inbox_seen.source, inbox_seen.id, inbox_seen.hash);
    PERFORM pawl.check_span('inbox_seen: keep', inbox_seen.keep, @INBOX_KEEP_MIN@, @INBOX_KEEP_MAX@, '@INBOX_KEEP_RANGE@');
    PERFORM pawl.check_number('inbox_seen: max_attempts', inbox_seen.max_attempts,
                              @ATTEMPTS_MIN@, @ATTEMPTS_MAX@, '@ATTEMPTS_RANGE@');
    SELECT * INTO r FROM pawl.inbox_record i
    WHERE i.source = inbox_seen.source AND i.id = inbox_seen.id;
    IF NOT FOUND AND pawl.inbox_lock(inbox_seen.source, inbox_seen.id) THEN
        INSERT INTO pawl.inbox_record (source, id, state, max_attempts, first_seen, last_seen, expires_at, hash)
        VALUES (inbox_seen.source, inbox_seen.id, @INBOX_SEEN@, inbox_seen.max_attempts, t, t, t + inbox_seen.keep,
                inbox_seen.hash)
        ON CONFLICT (source, id) DO NOTHING;
        IF NOT FOUND THEN
            SELECT * INTO r FROM pawl.inbox_record i
            WHERE i.source = inbox_seen.source AND i.id = inbox_seen.id;
        END IF;
    END IF;
    state := coalesce(r.state, @INBOX_SEEN@);
    conflict := (r.hash <> inbox_seen.hash) IS TRUE;
    IF r.number IS NOT NULL AND NOT conflict AND r.state <> @INBOX_PROCESSING@ THEN
        UPDATE pawl.inbox_record i
        SET last_seen = t, hash = coalesce(i.hash, inbox_seen.hash),
            duplicates = i.duplicates + (i.state = @INBOX_DONE@)::integer,
            expires_at = CASE WHEN i.state = @INBOX_SEEN@ THEN t + inbox_seen.keep ELSE i.expires_at END
        WHERE i.number = (SELECT l.number FROM pawl.inbox_record l
                          WHERE l.number = r.number FOR UPDATE SKIP LOCKED);
    END IF;
    RETURN NEXT;
END
$$;

-- One record by its key.
CREATE OR REPLACE FUNCTION pawl.inbox_get(source text, id text) RETURNS SETOF pawl.inbox_record
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT i.* FROM pawl.inbox_record i
                 WHERE i.source = inbox_get.source AND i.id = inbox_get.id;
END
$$;

-- Records, newest first, without responses. Scans at most `scan` rows. `kind` chooses the index: 0 all records,
-- 1 unfinished, 2 dead.
CREATE OR REPLACE FUNCTION pawl.inbox_list(
    states   bigint  DEFAULT 15, -- one bit per state: 1 seen, 2 processing, 4 done, 8 dead
    source   text    DEFAULT NULL,
    before   bigint  DEFAULT 9223372036854775807,
    max_rows bigint  DEFAULT 100,
    scan     bigint  DEFAULT 10000,
    kind     integer DEFAULT 0)
RETURNS SETOF pawl.inbox_listed
LANGUAGE plpgsql VOLATILE
-- @include ordered_index_plan
AS $$
#variable_conflict use_column
DECLARE
    seen bigint[];
BEGIN
    IF kind = @INBOX_LIST_UNFINISHED@ THEN
        seen := ARRAY(SELECT s.number FROM pawl.inbox_record s
                      WHERE s.state IN (@INBOX_UNFINISHED@) AND s.number < before ORDER BY s.number DESC LIMIT scan);
    ELSIF kind = @INBOX_LIST_DEAD@ THEN
        seen := ARRAY(SELECT s.number FROM pawl.inbox_record s
                      WHERE s.state = @INBOX_DEAD@ AND s.number < before ORDER BY s.number DESC LIMIT scan);
    ELSE
        seen := ARRAY(SELECT s.number FROM pawl.inbox_record s
                      WHERE s.number < before ORDER BY s.number DESC LIMIT scan);
    END IF;
    RETURN QUERY
        SELECT m.matches, cardinality(seen) = scan, i.number, i.fence, i.duplicates, i.lease_until, i.first_seen, i.last_seen,
               i.processed_at, i.expires_at, i.attempts, i.max_attempts, i.state, i.source, i.id,
               i.hash, i.endpoint, i.error, NULL::bytea, i.suspect, i.holder
        FROM unnest(seen) WITH ORDINALITY AS s(number, place)
        CROSS JOIN LATERAL (SELECT r.* FROM pawl.inbox_record r WHERE r.number = s.number LIMIT 1) i
        CROSS JOIN LATERAL (SELECT ((1 << i.state) & states) <> 0
                                   AND (inbox_list.source IS NULL OR i.source = inbox_list.source) AS matches) m
        WHERE m.matches OR s.place = cardinality(seen)
        ORDER BY s.place
        LIMIT max_rows;
END
$$;

-- Gives dead records all their attempts again, for the next delivery. Returns the number of records.
CREATE OR REPLACE FUNCTION pawl.inbox_retry(
    source   text     DEFAULT NULL, -- NULL: all sources
    id       text     DEFAULT NULL,
    keep     interval DEFAULT interval '@INBOX_KEEP_DEFAULT@ milliseconds',
    max_rows bigint   DEFAULT 1000)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
-- @include ordered_index_plan
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
    chosen bigint[];
BEGIN
    PERFORM pawl.check_span('inbox_retry: keep', inbox_retry.keep, @INBOX_KEEP_MIN@, @INBOX_KEEP_MAX@, '@INBOX_KEEP_RANGE@');
    chosen := ARRAY(
        SELECT i.number FROM pawl.inbox_record i
        WHERE i.state = @INBOX_DEAD@ AND (inbox_retry.source IS NULL OR i.source = inbox_retry.source)
          AND (inbox_retry.id IS NULL OR i.id = inbox_retry.id)
        ORDER BY i.number LIMIT max_rows
        FOR UPDATE SKIP LOCKED);
    UPDATE pawl.inbox_record i
    SET state = @INBOX_SEEN@, attempts = 0, suspect = false, lease_until = 'epoch', expires_at = t + inbox_retry.keep
    WHERE i.number = ANY (chosen);
    RETURN cardinality(chosen);
END
$$;

-- Deletes dead records. Returns the number of records.
CREATE OR REPLACE FUNCTION pawl.inbox_purge(
    source text DEFAULT NULL, id text DEFAULT NULL, max_rows bigint DEFAULT 1000)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
-- @include ordered_index_plan
AS $$
#variable_conflict use_column
DECLARE
    chosen bigint[];
BEGIN
    chosen := ARRAY(
        SELECT i.number FROM pawl.inbox_record i
        WHERE i.state = @INBOX_DEAD@ AND (inbox_purge.source IS NULL OR i.source = inbox_purge.source)
          AND (inbox_purge.id IS NULL OR i.id = inbox_purge.id)
        ORDER BY i.number LIMIT max_rows
        FOR UPDATE SKIP LOCKED);
    DELETE FROM pawl.inbox_record i WHERE i.number = ANY (chosen);
    RETURN cardinality(chosen);
END
$$;

-- Deletes records past their retention time, except those with a running attempt. Returns the number of
-- records.
CREATE OR REPLACE FUNCTION pawl.inbox_clean(max_rows bigint DEFAULT 1000) RETURNS bigint
LANGUAGE plpgsql VOLATILE
-- @include ordered_index_plan
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
    old bigint[];
BEGIN
    old := ARRAY(
        SELECT i.number FROM pawl.inbox_record i
        WHERE i.expires_at <= t AND (i.state <> @INBOX_PROCESSING@ OR i.lease_until <= t)
        ORDER BY i.expires_at LIMIT max_rows
        FOR UPDATE SKIP LOCKED);
    DELETE FROM pawl.inbox_record i WHERE i.number = ANY (old);
    RETURN cardinality(old);
END
$$;

-- Record counts per state, each counted up to `cap`. `stuck` counts processing records with an expired lease.
CREATE OR REPLACE FUNCTION pawl.inbox_stats(cap bigint DEFAULT 10000)
RETURNS TABLE (seen bigint, processing bigint, stuck bigint, done bigint, dead bigint)
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
BEGIN
    RETURN QUERY SELECT
        (SELECT count(*) FROM (SELECT FROM pawl.inbox_record i
                               WHERE i.state IN (@INBOX_UNFINISHED@) AND i.state = @INBOX_SEEN@ LIMIT cap) c),
        (SELECT count(*) FROM (SELECT FROM pawl.inbox_record i
                               WHERE i.state IN (@INBOX_UNFINISHED@) AND i.state = @INBOX_PROCESSING@ LIMIT cap) c),
        (SELECT count(*) FROM (SELECT FROM pawl.inbox_record i
                               WHERE i.state IN (@INBOX_UNFINISHED@) AND i.state = @INBOX_PROCESSING@ AND i.lease_until <= t LIMIT cap) c),
        (SELECT count(*) FROM (SELECT FROM pawl.inbox_record i
                               WHERE i.expires_at IS NOT NULL AND i.state = @INBOX_DONE@ LIMIT cap) c),
        (SELECT count(*) FROM (SELECT FROM pawl.inbox_record i WHERE i.state = @INBOX_DEAD@ LIMIT cap) c);
END
$$;

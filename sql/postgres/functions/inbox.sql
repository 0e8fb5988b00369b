-- The inbox: what others deliver, processed once. docs/internals/inbox.md
--
-- From any language, in a transaction of your own (atomic):
--   SELECT * FROM pawl.inbox_begin('shop', 'order-17', hash => sha256(...));  -- answer = 'new'? go on
--   ... your own statements ...
--   SELECT pawl.inbox_done('shop', 'order-17', fence, response => '...');     -- fails if it is not yours
-- or around a call of something else (call-out): the first committed by itself, then the call, then the
-- last committed by itself.

-- The lock of a key that has no record yet, until the end of the transaction, or false at once. A
-- transaction that inserts a key has it, so that no other waits on the unique index. Any user of the
-- database may take any advisory lock: the number is one that only this schema's functions can compute.
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

-- A delivery. `answer`:
--   new          it is yours: process it, then inbox_done() or inbox_fail() under `fence`
--   duplicate    it was processed; `response` is what was answered then
--   in_progress  somebody is at it; ask again after `retry_after`
--   conflict     the key is known with other content; nothing was written
--   dead         it failed too often, or was given up
--   suspect      only with alone => false: an attempt of it did not end. It may have killed its receiver:
--                ask again with alone => true when no other suspect runs in your process
-- `idempotency_key` is the same for all attempts. What is written here is part of your transaction: the
-- attempt is counted only if it commits. After a rollback, inbox_fail() without a fence counts it.
--
-- An attempt that did not end makes its message a suspect. The first one does not count, since it was
-- made beside others, any of which may have killed the process; all later ones are made alone, and
-- count. `holder` says who asks, for callers that ask again while they hold the message: they get another
-- attempt instead of 'in_progress'.
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
    mine   boolean := false; -- the caller holds it
    broken boolean := false; -- an attempt of it did not end
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

    -- It seems that it can be taken: now for certain.
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
    mine := (r.state = @INBOX_PROCESSING@ AND r.holder = inbox_begin.holder) IS TRUE;
    broken := r.suspect OR (r.state = @INBOX_PROCESSING@ AND NOT mine);
    IF r.hash <> inbox_begin.hash THEN
        answer := 'conflict';
    ELSIF r.state >= @INBOX_DONE@ THEN
        answer := CASE r.state WHEN @INBOX_DONE@ THEN 'duplicate' ELSE 'dead' END;
        response := CASE r.state WHEN @INBOX_DONE@ THEN r.response END;
        UPDATE pawl.inbox_record i
        SET last_seen = t, duplicates = i.duplicates + (i.state = @INBOX_DONE@)::integer
        WHERE i.number = (SELECT l.number FROM pawl.inbox_record l
                          WHERE l.number = r.number FOR UPDATE SKIP LOCKED);
    ELSIF NOT locked OR (r.state = @INBOX_PROCESSING@ AND r.lease_until > t AND NOT mine) THEN
        answer := 'in_progress';
        -- The lease says when its receiver would be given up, not when it will be done.
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

-- For the library: inside the transaction of an atomic attempt that was begun under `fence`. Whether it
-- is still this caller's; then it is so until the end of the transaction. The row says whose it is: who
-- takes a message over locks its row without waiting. Another delivery of it may have the row locked for
-- a moment; its lock of the key says nothing here.
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

-- For the library: inbox_done() that answers instead of failing.
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

-- It is processed, with what was answered. In the same transaction as what the message brought about,
-- both happen once: if the attempt is not yours any more, or somebody has finished it, this fails, and
-- your transaction with it. Without a fence: whoever comes first.
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
            MESSAGE = 'inbox_done: the message is not held under this fence any more, or was processed already',
            HINT = 'Roll back: nothing of this attempt may stay.';
    END IF;
END
$$;

-- The attempt failed; the next delivery may try again at once, unless it was the last or `dead` says
-- that none may. Whether something changed. Without a fence it counts an attempt itself: for a
-- transaction that began with inbox_begin() and was rolled back.
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

-- For the library: inbox_fail() that counts nothing; without a fence it ends whatever is at it.
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

-- For the library: the attempt was not made. It is given back, and does not count.
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

-- Still at it: the lease now ends `lease` from now. False: it is not yours any more.
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

-- Write down that it was seen, and nothing else. Answers its state, and whether it is there with other
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

-- Records, newest first, without their responses. Looks at `scan` rows at most. `kind` chooses the
-- index: 0 all records, 1 unfinished, 2 dead.
CREATE OR REPLACE FUNCTION pawl.inbox_list(
    states   bigint  DEFAULT 15, -- a bit for each state: 1 seen, 2 processing, 4 done, 8 dead
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
        SELECT i.number, i.fence, i.duplicates, i.lease_until, i.first_seen, i.last_seen,
               i.processed_at, i.expires_at, i.attempts, i.max_attempts, i.state, i.source, i.id,
               i.hash, i.endpoint, i.error, NULL::bytea, i.suspect, i.holder, m.matches, cardinality(seen) = scan
        FROM unnest(seen) WITH ORDINALITY AS s(number, place)
        CROSS JOIN LATERAL (SELECT r.* FROM pawl.inbox_record r WHERE r.number = s.number LIMIT 1) i
        CROSS JOIN LATERAL (SELECT ((1 << i.state) & states) <> 0
                                   AND (inbox_list.source IS NULL OR i.source = inbox_list.source) AS matches) m
        WHERE m.matches OR s.place = cardinality(seen)
        ORDER BY s.place
        LIMIT max_rows;
END
$$;

-- Dead records get all their attempts again, when the message comes again. Returns how many.
CREATE OR REPLACE FUNCTION pawl.inbox_retry(
    source   text     DEFAULT NULL, -- NULL: of all
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

-- Forget dead records. Returns how many.
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

-- Forget what has been kept long enough. Whoever is still at one keeps it. Returns how many.
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

-- How many are in which state, each counted up to `cap`; `stuck` are processing past their lease.
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

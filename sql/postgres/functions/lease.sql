-- Leases: exclusive, expiring ownership of a named thing. docs/internals/lease.md explains the locks.

CREATE OR REPLACE FUNCTION pawl.lease_get(name text) RETURNS SETOF pawl.lease_answer
LANGUAGE plpgsql VOLATILE
-- @include ordered_index_plan
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
BEGIN
    RETURN QUERY SELECT 1::smallint, t, l.* FROM pawl.lease l WHERE l.name = lease_get.name;
END
$$;

-- Leases by name, starting behind `after`.
CREATE OR REPLACE FUNCTION pawl.lease_list(
    after     text    DEFAULT '',
    only_owned boolean DEFAULT false,
    max_rows  bigint  DEFAULT 100)
RETURNS SETOF pawl.lease_answer
LANGUAGE plpgsql VOLATILE
-- @include ordered_index_plan
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
BEGIN
    RETURN QUERY
        SELECT 1::smallint, t, l.* FROM pawl.lease l
        WHERE l.name > after
          AND (NOT only_owned OR (l.released_at IS NULL AND l.expires_at > t))
        ORDER BY l.name LIMIT max_rows;
END
$$;

CREATE OR REPLACE FUNCTION pawl.lease_check(name text, owner uuid, ttl interval) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF coalesce(char_length(lease_check.name), 0) NOT BETWEEN @LEASE_NAME_MIN@ AND @LEASE_NAME_MAX@ THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = 'lease: name must have @LEASE_NAME_RANGE@';
    ELSIF lease_check.owner IS NULL OR lease_check.owner = '00000000-0000-0000-0000-000000000000' THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = 'lease: owner must not be NULL or zero';
    END IF;
    PERFORM pawl.check_span('lease: ttl', lease_check.ttl, @LEASE_TTL_MIN@, @LEASE_TTL_MAX@, '@LEASE_TTL_RANGE@');
END
$$;

-- Acquires the lease, or returns its holder. For the current holder it extends the lease, never shortens it,
-- and keeps the token. Acquiring waits for the transactions that have passed lease_guard() with the previous
-- token.
CREATE OR REPLACE FUNCTION pawl.lease_acquire(
    name       text,
    owner      uuid,
    ttl        interval DEFAULT interval '@LEASE_DEFAULT@ milliseconds',
    owner_name text     DEFAULT NULL) -- NULL: the owner
RETURNS SETOF pawl.lease_answer
LANGUAGE plpgsql VOLATILE
-- @include ordered_index_plan
AS $$
#variable_conflict use_column
DECLARE
    t timestamptz := pawl.clock();
    l pawl.lease;
BEGIN
    PERFORM pawl.lease_check(lease_acquire.name, lease_acquire.owner, lease_acquire.ttl);
    PERFORM pawl.check_number('lease: the length of owner_name', char_length(coalesce(lease_acquire.owner_name, '-')),
                              @OWNER_NAME_MIN@, @OWNER_NAME_MAX@, '@OWNER_NAME_RANGE@');

    -- A caller that polls for a lease of another owner takes no lock and waits for no one.
    SELECT p.* INTO l FROM pawl.lease p WHERE p.name = lease_acquire.name;
    IF l.released_at IS NULL AND l.expires_at > t THEN
        IF l.owner <> lease_acquire.owner THEN
            -- Renewed by a clock that was ahead: limit it to its full duration from now.
            IF l.renewed_at > t + interval '5 minutes' THEN
                UPDATE pawl.lease p
                SET renewed_at = t, expires_at = t + (p.expires_at - p.renewed_at),
                    taken_at = least(p.taken_at, t)
                WHERE p.name = l.name AND p.fence = l.fence AND p.renewed_at > t + interval '5 minutes'
                RETURNING p.* INTO l;
                IF NOT FOUND THEN
                    SELECT p.* INTO l FROM pawl.lease p WHERE p.name = lease_acquire.name;
                END IF;
            END IF;
            RETURN QUERY SELECT @LEASE_RESULT_HELD@::smallint, t, l.*;
            RETURN;
        END IF;
        SELECT p.* INTO l FROM pawl.lease p WHERE p.name = lease_acquire.name FOR NO KEY UPDATE;
        t := pawl.clock();
        IF l.owner = lease_acquire.owner AND l.released_at IS NULL AND l.expires_at > t THEN
            RETURN QUERY
                UPDATE pawl.lease p
                SET renewed_at = t,
                    expires_at = greatest(CASE WHEN p.renewed_at <= t + interval '5 minutes' THEN p.expires_at END,
                                      t + pawl.seconds(lease_acquire.ttl))
                WHERE p.name = lease_acquire.name
                RETURNING @LEASE_RESULT_EXTENDED@::smallint, t, p.*;
            RETURN;
        END IF;
    END IF;

    -- FOR UPDATE waits for FOR KEY SHARE, the lock of lease_guard(). A new name first gets a row without a
    -- holder: the token must be drawn while the row is locked, or a later holder might have a lower one.
    LOOP
        SELECT p.* INTO l FROM pawl.lease p WHERE p.name = lease_acquire.name FOR UPDATE;
        EXIT WHEN FOUND;
        INSERT INTO pawl.lease (name, owner, owner_name, fence, taken_at, renewed_at, expires_at, released_at)
        VALUES (lease_acquire.name, '00000000-0000-0000-0000-000000000000', '', 0, t, t, t, t)
        ON CONFLICT (name) DO NOTHING;
    END LOOP;
    t := pawl.clock();
    IF l.released_at IS NULL AND l.expires_at > t THEN -- another session acquired it first
        RETURN QUERY SELECT @LEASE_RESULT_HELD@::smallint, t, l.*;
        RETURN;
    END IF;
    RETURN QUERY
        UPDATE pawl.lease p
        SET owner = lease_acquire.owner,
            owner_name = coalesce(lease_acquire.owner_name, lease_acquire.owner::text),
            fence = nextval('pawl.fence'), taken_at = t, renewed_at = t,
            expires_at = t + pawl.seconds(lease_acquire.ttl), released_at = NULL
        WHERE p.name = lease_acquire.name
        RETURNING @LEASE_RESULT_TAKEN@::smallint, t, p.*;
END
$$;

-- Renews the lease to end at least `ttl` from now, only while it is held under this token. An expired lease is
-- not renewed, even if no other owner has acquired it.
CREATE OR REPLACE FUNCTION pawl.lease_renew(
    name  text,
    owner uuid,
    fence bigint,
    ttl   interval DEFAULT interval '@LEASE_DEFAULT@ milliseconds')
RETURNS SETOF pawl.lease_answer
LANGUAGE plpgsql VOLATILE
-- @include ordered_index_plan
AS $$
#variable_conflict use_column
DECLARE
    t timestamptz;
    l pawl.lease;
BEGIN
    PERFORM pawl.lease_check(lease_renew.name, lease_renew.owner, lease_renew.ttl);
    SELECT p.* INTO l FROM pawl.lease p WHERE p.name = lease_renew.name FOR NO KEY UPDATE;
    t := pawl.clock();
    IF l.owner = lease_renew.owner AND l.fence = lease_renew.fence
       AND l.released_at IS NULL AND l.expires_at > t THEN
        RETURN QUERY
            UPDATE pawl.lease p
            SET renewed_at = t,
                expires_at = greatest(CASE WHEN p.renewed_at <= t + interval '5 minutes' THEN p.expires_at END,
                                  t + pawl.seconds(lease_renew.ttl))
            WHERE p.name = lease_renew.name
            RETURNING 1::smallint, t, p.*;
    ELSE
        RETURN QUERY SELECT 0::smallint, t, l.*;
    END IF;
END
$$;

-- Releases the lease. Any owner may acquire it from now on; acquiring waits for guarded transactions.
CREATE OR REPLACE FUNCTION pawl.lease_release(name text, owner uuid, fence bigint)
RETURNS SETOF pawl.lease_answer
LANGUAGE plpgsql VOLATILE
-- @include ordered_index_plan
AS $$
#variable_conflict use_column
DECLARE
    t timestamptz;
    l pawl.lease;
BEGIN
    SELECT p.* INTO l FROM pawl.lease p WHERE p.name = lease_release.name FOR NO KEY UPDATE;
    t := pawl.clock();
    IF l.owner = lease_release.owner AND l.fence = lease_release.fence
       AND l.released_at IS NULL AND l.expires_at > t THEN
        RETURN QUERY
            UPDATE pawl.lease p SET released_at = t, expires_at = t
            WHERE p.name = lease_release.name
            RETURNING 1::smallint, t, p.*;
    ELSE
        RETURN QUERY SELECT 0::smallint, t, l.*;
    END IF;
END
$$;

-- Takes the lease from its holder, or only from the holder of the given token. The lease records the operator
-- and the reason.
CREATE OR REPLACE FUNCTION pawl.lease_force(
    name   text,
    by     text   DEFAULT current_user,
    reason text   DEFAULT NULL,
    fence  bigint DEFAULT NULL)
RETURNS SETOF pawl.lease_answer
LANGUAGE plpgsql VOLATILE
-- @include ordered_index_plan
AS $$
#variable_conflict use_column
DECLARE
    t timestamptz;
    l pawl.lease;
BEGIN
    PERFORM pawl.check_number('lease_force: the length of by', char_length(coalesce(lease_force.by, '-')),
                              @OWNER_NAME_MIN@, @OWNER_NAME_MAX@, '@OWNER_NAME_RANGE@');
    SELECT p.* INTO l FROM pawl.lease p WHERE p.name = lease_force.name FOR NO KEY UPDATE;
    t := pawl.clock();
    IF l.fence = coalesce(lease_force.fence, l.fence) AND l.released_at IS NULL AND l.expires_at > t THEN
        RETURN QUERY
            UPDATE pawl.lease p
            SET released_at = t, expires_at = t, forced_at = t, forced_by = lease_force.by,
                forced_reason = pawl.cut_text(lease_force.reason), forced_fence = p.fence
            WHERE p.name = lease_force.name
            RETURNING 1::smallint, t, p.*;
    ELSE
        RETURN QUERY SELECT 0::smallint, t, l.*;
    END IF;
END
$$;

-- Whether the lease is held under this token. If so, no other owner can acquire it before this transaction
-- ends, even if it expires meanwhile; its holder can still renew it. The unlocked check comes first, so that a
-- refusal leaves no lock behind for others to wait on.
CREATE OR REPLACE FUNCTION pawl.lease_is_held(name text, fence bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE
-- @include ordered_index_plan
AS $$
#variable_conflict use_column
DECLARE
    l pawl.lease;
BEGIN
    SELECT p.* INTO l FROM pawl.lease p
    WHERE p.name = lease_is_held.name AND p.fence = lease_is_held.fence;
    IF NOT FOUND OR l.released_at IS NOT NULL OR l.expires_at <= pawl.clock() THEN
        RETURN false;
    END IF;
    SELECT p.* INTO l FROM pawl.lease p
    WHERE p.name = lease_is_held.name AND p.fence = lease_is_held.fence
    FOR KEY SHARE;
    RETURN FOUND AND l.released_at IS NULL AND l.expires_at > pawl.clock();
END
$$;

-- The same as a guard for the rest of the transaction: fails if the token is not current.
CREATE OR REPLACE FUNCTION pawl.lease_guard(name text, fence bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF NOT pawl.lease_is_held(lease_guard.name, lease_guard.fence) THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('the lease "%s" is no longer held under token %s', lease_guard.name, lease_guard.fence),
            HINT = 'Another owner may hold it now: roll back, and acquire the lease again.';
    END IF;
END
$$;

-- Deletes leases that ended longer than `keep` ago. Tokens come from the sequence, so none is reused.
CREATE OR REPLACE FUNCTION pawl.lease_clean(keep interval DEFAULT interval '@KEEP_DEFAULT_DAYS@ days', max_rows bigint DEFAULT 1000)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
-- @include ordered_index_plan
AS $$
#variable_conflict use_column
DECLARE
    before timestamptz;
    old text[];
BEGIN
    PERFORM pawl.check_span('lease_clean: keep', lease_clean.keep, @KEEP_MIN@, @KEEP_MAX@, '@KEEP_RANGE@');
    before := pawl.clock() - pawl.seconds(keep);
    old := ARRAY(
        SELECT l.name FROM pawl.lease l
        WHERE l.expires_at <= before ORDER BY l.expires_at LIMIT max_rows
        FOR UPDATE SKIP LOCKED);
    DELETE FROM pawl.lease l WHERE l.name = ANY (old);
    RETURN cardinality(old);
END
$$;

-- Creating, changing, triggering and removing jobs, and reading them.

-- Create a job or change it: all of it, each time. The same schedule and zone keep the next slot; others
-- are computed anew, from now on. Returns whether there was none before. A schedule that cannot be read
-- is found by the scheduler: see pawl.job.problem.
CREATE FUNCTION pawl.job_put(
    name text, schedule text, topic text,
    payload        bytea    DEFAULT '',
    zone           text     DEFAULT 'UTC',      -- a name of the IANA database
    destination    text     DEFAULT NULL,       -- NULL: for a local handler
    headers        json     DEFAULT NULL,
    correlation_id text     DEFAULT NULL,
    priority       bigint   DEFAULT 0,          -- 0 to 9, higher first
    type           text     DEFAULT 'signal',
    max_attempts   bigint   DEFAULT NULL,       -- of a run; NULL: 10, or until it expires with a destination
    retry_base     interval DEFAULT NULL,       -- these three: NULL: the worker decides
    retry_max      interval DEFAULT NULL,
    retry_jitter   interval DEFAULT NULL,
    misfire        text     DEFAULT 'once',     -- once, all, skip
    misfire_cap    bigint   DEFAULT 100,
    misfire_grace  interval DEFAULT interval '60 seconds',
    overlap        text     DEFAULT 'skip',     -- skip, allow, queue
    jitter         interval DEFAULT interval '0',
    ttl            interval DEFAULT NULL,       -- NULL: none, or 24 h with a destination
    timeout        interval DEFAULT NULL,       -- of one attempt; NULL: none
    lease          interval DEFAULT interval '2 minutes',
    heartbeat      interval DEFAULT interval '30 seconds',
    keep_runs      bigint   DEFAULT 100,
    keep_age       interval DEFAULT NULL,       -- NULL: any
    enabled        boolean  DEFAULT true)       -- of a new job; one that exists stays as it is
RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
    type_id CONSTANT smallint := CASE lower(job_put.type) WHEN 'signal' THEN 0 WHEN 'command' THEN 1
                                                          WHEN 'push_call' THEN 2 WHEN 'response' THEN 3 END;
    problem text;
    created boolean;
BEGIN
    problem := CASE
        WHEN (char_length(job_put.name) BETWEEN @JOB_NAME_LEAST@ AND @JOB_NAME_MOST@) IS NOT TRUE
            THEN 'name must have @JOB_NAME_WORDS@'
        WHEN (char_length(btrim(job_put.schedule)) BETWEEN @SCHEDULE_LEAST@ AND @SCHEDULE_MOST@) IS NOT TRUE
            THEN 'schedule must have @SCHEDULE_WORDS@'
        WHEN (char_length(job_put.zone) BETWEEN @SCHEDULE_LEAST@ AND @SCHEDULE_MOST@) IS NOT TRUE
            THEN 'zone must have @SCHEDULE_WORDS@'
        WHEN (job_put.misfire IN ('once', 'all', 'skip')) IS NOT TRUE THEN 'misfire must be once, all or skip'
        WHEN (job_put.overlap IN ('skip', 'allow', 'queue')) IS NOT TRUE THEN 'overlap must be skip, allow or queue'
        WHEN (job_put.misfire_cap BETWEEN @MISFIRE_CAP_LEAST@ AND @MISFIRE_CAP_MOST@) IS NOT TRUE
            THEN 'misfire_cap must be @MISFIRE_CAP_WORDS@'
        WHEN (job_put.keep_runs BETWEEN @KEEP_RUNS_LEAST@ AND @KEEP_RUNS_MOST@) IS NOT TRUE
            THEN 'keep_runs must be @KEEP_RUNS_WORDS@'
        WHEN (date_part('epoch', job_put.misfire_grace) * 1000 BETWEEN @MISFIRE_GRACE_LEAST@ AND @MISFIRE_GRACE_MOST@) IS NOT TRUE
            THEN 'misfire_grace must be @MISFIRE_GRACE_WORDS@'
        WHEN (date_part('epoch', job_put.jitter) * 1000 BETWEEN @JOB_JITTER_LEAST@ AND @JOB_JITTER_MOST@) IS NOT TRUE
            THEN 'jitter must be @JOB_JITTER_WORDS@'
        WHEN (date_part('epoch', job_put.lease) * 1000 BETWEEN @JOB_LEASE_LEAST@ AND @JOB_LEASE_MOST@) IS NOT TRUE
            THEN 'lease must be @JOB_LEASE_WORDS@'
        WHEN (date_part('epoch', job_put.heartbeat) * 1000 BETWEEN @JOB_HEARTBEAT_LEAST@ AND @JOB_HEARTBEAT_MOST@) IS NOT TRUE
            THEN 'heartbeat must be @JOB_HEARTBEAT_WORDS@'
        WHEN date_part('epoch', job_put.keep_age) * 1000 NOT BETWEEN @TTL_LEAST@ AND @TTL_MOST@
            THEN 'keep_age must be @TTL_WORDS@'
        WHEN job_put.enabled IS NULL THEN 'enabled must not be NULL'
        -- The rest is what its messages are made of.
        ELSE pawl.message_problem(
            job_put.topic, job_put.payload, type_id, job_put.destination, job_put.headers::text,
            nullif(job_put.correlation_id, ''), job_put.priority, NULL, NULL, NULL, job_put.ttl,
            coalesce(job_put.max_attempts, 1), job_put.lease, job_put.retry_base, job_put.retry_max,
            job_put.retry_jitter, job_put.timeout, job_put.heartbeat)
    END;
    IF problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = 'job_put: ' || problem,
            HINT = 'Nothing was stored.';
    END IF;
    INSERT INTO pawl.job AS j
        (name, schedule, zone, topic, payload, type, destination, headers, correlation_id, priority,
         max_attempts, retry_base, retry_max, retry_jitter, misfire, misfire_cap, misfire_grace, overlap,
         jitter, ttl, timeout, lease, heartbeat, keep_runs, keep_age, enabled, created_at, updated_at,
         anchor, since, sweep_at)
    VALUES (job_put.name, btrim(job_put.schedule), job_put.zone, job_put.topic, job_put.payload, type_id,
            job_put.destination, job_put.headers, nullif(job_put.correlation_id, ''), job_put.priority,
            job_put.max_attempts, job_put.retry_base, job_put.retry_max,
            CASE WHEN job_put.retry_base IS NOT NULL THEN coalesce(job_put.retry_jitter, interval '0') END,
            job_put.misfire, job_put.misfire_cap, job_put.misfire_grace, job_put.overlap, job_put.jitter,
            job_put.ttl, job_put.timeout, job_put.lease, job_put.heartbeat, job_put.keep_runs,
            job_put.keep_age, job_put.enabled, t, t, t, t, t + interval '60 seconds')
    ON CONFLICT (name) DO UPDATE
    SET schedule = excluded.schedule, zone = excluded.zone, topic = excluded.topic,
        payload = excluded.payload, type = excluded.type, destination = excluded.destination,
        headers = excluded.headers, correlation_id = excluded.correlation_id, priority = excluded.priority,
        max_attempts = excluded.max_attempts, retry_base = excluded.retry_base,
        retry_max = excluded.retry_max, retry_jitter = excluded.retry_jitter, misfire = excluded.misfire,
        misfire_cap = excluded.misfire_cap, misfire_grace = excluded.misfire_grace,
        overlap = excluded.overlap, jitter = excluded.jitter, ttl = excluded.ttl,
        timeout = excluded.timeout, lease = excluded.lease, heartbeat = excluded.heartbeat,
        keep_runs = excluded.keep_runs, keep_age = excluded.keep_age,
        created_at = coalesce(j.created_at, t), updated_at = t,
        anchor = CASE WHEN (j.schedule, j.zone) = (excluded.schedule, excluded.zone)
                      THEN coalesce(j.anchor, t) ELSE t END,
        since = CASE WHEN (j.schedule, j.zone) = (excluded.schedule, excluded.zone)
                     THEN coalesce(j.since, t) ELSE t END,
        next_slot_at = CASE WHEN (j.schedule, j.zone) = (excluded.schedule, excluded.zone)
                            THEN j.next_slot_at END,
        next_due_at = CASE WHEN (j.schedule, j.zone) = (excluded.schedule, excluded.zone)
                           THEN j.next_due_at END,
        awaited_run = CASE WHEN (j.schedule, j.zone) = (excluded.schedule, excluded.zone)
                           THEN j.awaited_run END,
        look_at = 'epoch', sweep_at = least(j.sweep_at, excluded.sweep_at), version = j.version + 1,
        problem = NULL
    RETURNING j.version = 0 INTO created;
    RETURN created;
END
$$;

-- With the payload as text; it is stored as UTF-8. A quoted literal comes here.
CREATE FUNCTION pawl.job_put(
    name text, schedule text, topic text, payload text, zone text DEFAULT 'UTC',
    destination text DEFAULT NULL, headers json DEFAULT NULL, correlation_id text DEFAULT NULL,
    priority bigint DEFAULT 0, type text DEFAULT 'signal', max_attempts bigint DEFAULT NULL,
    retry_base interval DEFAULT NULL, retry_max interval DEFAULT NULL, retry_jitter interval DEFAULT NULL,
    misfire text DEFAULT 'once', misfire_cap bigint DEFAULT 100,
    misfire_grace interval DEFAULT interval '60 seconds', overlap text DEFAULT 'skip',
    jitter interval DEFAULT interval '0', ttl interval DEFAULT NULL, timeout interval DEFAULT NULL,
    lease interval DEFAULT interval '2 minutes', heartbeat interval DEFAULT interval '30 seconds',
    keep_runs bigint DEFAULT 100, keep_age interval DEFAULT NULL, enabled boolean DEFAULT true)
RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN pawl.job_put(name, schedule, topic, convert_to(payload, 'UTF8'), zone, destination, headers,
                        correlation_id, priority, type, max_attempts, retry_base, retry_max, retry_jitter,
                        misfire, misfire_cap, misfire_grace, overlap, jitter, ttl, timeout, lease,
                        heartbeat, keep_runs, keep_age, enabled);
END
$$;

-- For the library: job_enable() and job_disable() that answer whether there is such a job, and whether
-- that was a change.
CREATE FUNCTION pawl.job_switch(name text, enabled boolean) RETURNS TABLE (is_there boolean, changed boolean)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
BEGIN
    UPDATE pawl.job j
    SET enabled = job_switch.enabled, since = t, next_slot_at = NULL, next_due_at = NULL,
        awaited_run = NULL, look_at = 'epoch', updated_at = t, version = j.version + 1, problem = NULL
    WHERE j.name = job_switch.name AND j.enabled <> job_switch.enabled;
    changed := FOUND;
    is_there := changed OR EXISTS (SELECT FROM pawl.job j WHERE j.name = job_switch.name);
    RETURN NEXT;
END
$$;

CREATE FUNCTION pawl.job_missing(name text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'no_data_found', MESSAGE = format('there is no job "%s"', name);
END
$$;

-- No slot is made any more; runs that exist go on. Whether it was enabled.
CREATE FUNCTION pawl.job_disable(name text) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    s record;
BEGIN
    SELECT * INTO s FROM pawl.job_switch(job_disable.name, false);
    IF NOT s.is_there THEN
        PERFORM pawl.job_missing(job_disable.name);
    END IF;
    RETURN s.changed;
END
$$;

-- Its slots are computed from now on. Whether it was disabled.
CREATE FUNCTION pawl.job_enable(name text) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    s record;
BEGIN
    SELECT * INTO s FROM pawl.job_switch(job_enable.name, true);
    IF NOT s.is_there THEN
        PERFORM pawl.job_missing(job_enable.name);
    END IF;
    RETURN s.changed;
END
$$;

-- For the library: a run outside the schedule. Answers how it went: 2 a message was made, 1 it waits in
-- line, 0 another run has not ended; then that run's id (of 0 the other's) and state. No row: there is no
-- such job.
CREATE FUNCTION pawl.job_fire(name text, forced boolean, message_id uuid)
RETURNS TABLE (how integer, run_id bigint, state integer)
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    xid CONSTANT xid8 := pg_current_xact_id(); -- first, as in enqueue_batch
    t   CONSTANT timestamptz := pawl.clock();
    j    pawl.job;
    busy boolean; -- a run is a message, not ended
BEGIN
    SELECT p.* INTO j FROM pawl.job p WHERE p.name = job_fire.name FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT o.id, o.state INTO run_id, state FROM pawl.job_run o
    WHERE o.job_id = j.id AND o.state IN (0, 1, 6) ORDER BY o.id DESC LIMIT 1;
    IF FOUND AND NOT forced AND j.overlap <> 'allow'
       AND (j.overlap = 'skip'
            OR EXISTS (SELECT FROM pawl.job_run w WHERE w.job_id = j.id AND w.state = 6)) THEN
        how := 0;
        RETURN NEXT;
        RETURN;
    END IF;
    busy := EXISTS (SELECT FROM pawl.job_run o WHERE o.job_id = j.id AND o.state IN (0, 1));
    INSERT INTO pawl.job_run (job_id, triggered, state, scheduled_at, last_slot_at, created_at)
    VALUES (j.id, true, 6, t, t, t) RETURNING id INTO run_id;
    UPDATE pawl.job p
    SET version = p.version + 1, sweep_at = least(p.sweep_at, t + interval '60 seconds'),
        look_at = CASE p.overlap WHEN 'queue' THEN 'epoch' ELSE p.look_at END
    WHERE p.id = j.id;
    IF busy AND NOT forced AND j.overlap <> 'allow' THEN
        how := 1;
        state := 6;
    ELSE
        PERFORM pawl.job_start(j, run_id, message_id, t);
        PERFORM pawl.wake();
        how := 2;
        state := 0;
    END IF;
    RETURN NEXT;
END
$$;

-- Run a job now, outside its schedule; also a disabled one. Returns the run's id. Fails if another run has
-- not ended and the job does not allow that, unless it is forced.
CREATE FUNCTION pawl.job_trigger(name text, forced boolean DEFAULT false) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    f record;
BEGIN
    SELECT * INTO f FROM pawl.job_fire(job_trigger.name, job_trigger.forced, pawl.new_message_id());
    IF NOT FOUND THEN
        PERFORM pawl.job_missing(job_trigger.name);
    ELSIF f.how = 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'object_in_use',
            MESSAGE = format('job_trigger: run %s of the job "%s" has not ended', f.run_id, job_trigger.name),
            HINT = 'Wait for it, cancel it, or give forced => true.';
    END IF;
    RETURN f.run_id;
END
$$;

-- For the library: job_delete() that answers NULL if there is no such job.
CREATE FUNCTION pawl.job_remove(name text) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
    job     bigint;
    works   bigint[];
    waiting bigint;
    changed bigint;
BEGIN
    SELECT j.id INTO job FROM pawl.job j WHERE j.name = job_remove.name FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    works := ARRAY(SELECT r.work_id FROM pawl.job_run r WHERE r.job_id = job AND r.state IN (0, 1));
    WITH gone AS (
        DELETE FROM pawl.queue q WHERE q.id = ANY (works) AND q.fence = 0
        RETURNING q.id, q.lane_id, q.retries, q.last_error, q.progress),
    ended AS (
        INSERT INTO pawl.outcome (id, state, finished_at, retries, error, progress)
        SELECT g.id, 5, t, g.retries, g.last_error, g.progress FROM gone g),
    counted AS (
        INSERT INTO pawl.tally_delta (lane_id, state, n)
        SELECT g.lane_id, 5, count(*) FROM gone g GROUP BY g.lane_id)
    SELECT count(*) INTO changed FROM gone;
    waiting := (SELECT count(*) FROM pawl.job_run r WHERE r.job_id = job AND r.state = 6);
    DELETE FROM pawl.job_run r WHERE r.job_id = job;
    DELETE FROM pawl.job j WHERE j.id = job;
    RETURN changed + waiting;
END
$$;

-- Remove a job and its history. What nobody has begun with is cancelled; returns how many. What is being
-- handled goes on to its end.
CREATE FUNCTION pawl.job_delete(name text) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    cancelled CONSTANT bigint := pawl.job_remove(job_delete.name);
BEGIN
    IF cancelled IS NULL THEN
        PERFORM pawl.job_missing(job_delete.name);
    END IF;
    RETURN cancelled;
END
$$;

-- ---- reading ----

CREATE FUNCTION pawl.job_get(name text) RETURNS SETOF pawl.job_status
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT s.* FROM pawl.job_status s WHERE s.name = job_get.name;
END
$$;

-- By name, without payloads.
CREATE FUNCTION pawl.job_list(after text DEFAULT '', max_rows bigint DEFAULT 100)
RETURNS SETOF pawl.job_status
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
SET jit = off
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
        SELECT s.id, s.name, s.schedule, s.zone, s.topic, NULL::bytea, s.type, s.destination, s.headers,
               s.correlation_id, s.priority, s.max_attempts, s.retry_base, s.retry_max, s.retry_jitter,
               s.misfire, s.misfire_cap, s.misfire_grace, s.overlap, s.jitter, s.ttl, s.timeout, s.lease,
               s.heartbeat, s.keep_runs, s.keep_age, s.enabled, s.created_at, s.updated_at, s.anchor,
               s.since, s.next_slot_at, s.last_slot_at, s.awaited_run, s.problem, s.unfinished,
               s.last_run_at, s.last_run_state
        FROM pawl.job_status s
        WHERE s.name > job_list.after COLLATE "C"
        ORDER BY s.name LIMIT max_rows;
END
$$;

-- A job's history (NULL: of all), newest first; the library's form of a look at pawl.job_runs. Looks at
-- `scan` rows at most. The last row looked at is always answered, so that the next page can start there.
CREATE FUNCTION pawl.job_run_list(
    job text, states bigint, before bigint, max_rows bigint, scan bigint, with_output boolean)
RETURNS TABLE (id bigint, name text, triggered boolean, state smallint, reason smallint,
               scheduled_at timestamptz, last_slot_at timestamptz, slots bigint, slots_more boolean,
               work_id bigint, message_id uuid, created_at timestamptz, started_at timestamptz,
               claimed_at timestamptz, ended_at timestamptz, claimed_by text, attempts integer, error text,
               output bytea, matches boolean, bounded boolean)
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    of_job CONSTANT bigint := (SELECT j.id FROM pawl.job j WHERE j.name = job_run_list.job);
    seen bigint[];
    full_scan boolean;
    last bigint;
BEGIN
    IF job_run_list.job IS NULL THEN
        seen := ARRAY(SELECT r.id FROM pawl.job_run r WHERE r.id < before ORDER BY r.id DESC LIMIT scan);
    ELSE
        seen := ARRAY(SELECT r.id FROM pawl.job_run r WHERE r.job_id = of_job AND r.id < before
                      ORDER BY r.id DESC LIMIT scan);
    END IF;
    full_scan := cardinality(seen) = scan;
    last := seen[cardinality(seen)];
    RETURN QUERY
        SELECT m.id, (SELECT j.name FROM pawl.job j WHERE j.id = m.job_id), m.triggered, m.state, m.reason,
               m.scheduled_at, m.last_slot_at, m.slots, m.slots_more, m.work_id, m.message_id,
               m.created_at, m.started_at, m.claimed_at, m.ended_at, m.claimed_by, m.attempts, m.error,
               CASE WHEN with_output THEN m.output END, m.fits, full_scan
        FROM (SELECT r.*, ((1::bigint << r.state) & states) <> 0 AS fits
              FROM pawl.job_run r WHERE r.id = ANY (seen)) m
        WHERE m.fits OR m.id = last
        ORDER BY m.id DESC
        LIMIT max_rows;
END
$$;

CREATE FUNCTION pawl.job_run_get(id bigint)
RETURNS TABLE (run_id bigint, name text, triggered boolean, state smallint, reason smallint,
               scheduled_at timestamptz, last_slot_at timestamptz, slots bigint, slots_more boolean,
               work_id bigint, message_id uuid, created_at timestamptz, started_at timestamptz,
               claimed_at timestamptz, ended_at timestamptz, claimed_by text, attempts integer, error text,
               output bytea)
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
        SELECT r.id, (SELECT j.name FROM pawl.job j WHERE j.id = r.job_id), r.triggered, r.state, r.reason,
               r.scheduled_at, r.last_slot_at, r.slots, r.slots_more, r.work_id, r.message_id,
               r.created_at, r.started_at, r.claimed_at, r.ended_at, r.claimed_by, r.attempts, r.error,
               r.output
        FROM pawl.job_run r WHERE r.id = job_run_get.id;
END
$$;

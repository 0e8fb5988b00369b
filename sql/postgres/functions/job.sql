-- Jobs: table triggers, management, and the two steps of the scheduler. docs/internals/job.md

-- A manual change. The functions of this file increment the version themselves.
CREATE OR REPLACE FUNCTION pawl.job_changed_by_user() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    NEW.version := OLD.version + 1;
    NEW.next_check_at := 'epoch';
    NEW.problem := NULL;
    NEW.next_occurrence_at := NULL;
    NEW.next_due_at := NULL;
    NEW.since := NULL;
    NEW.awaited_run := NULL;
    IF NEW.schedule <> OLD.schedule THEN
        NEW.anchor := NULL;
    END IF;
    RETURN NEW;
END
$$;

-- A manual correction of a job whose message could not be stored: the scheduler tries it at once.
CREATE OR REPLACE FUNCTION pawl.job_corrected() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    NEW.version := OLD.version + 1;
    NEW.next_check_at := 'epoch';
    NEW.problem := NULL;
    RETURN NEW;
END
$$;

-- The history follows the queue, whatever changes the queue. When a run is claimed that the scheduler waits
-- for, or a run ends while others may wait, an event is recorded in the run's row, which no other transaction
-- writes at that time. Events in the jobs' rows would lock those in arbitrary order.
CREATE OR REPLACE FUNCTION pawl.queue_run_held() RETURNS trigger
LANGUAGE plpgsql
-- @include index_plan
AS $$
DECLARE
    t CONSTANT timestamptz := pawl.clock();
BEGIN
    IF NEW.fence <> 0 THEN
        UPDATE pawl.job_run r
        SET state = @STATE_RUNNING@, started_at = coalesce(r.started_at, t), claimed_at = t, attempts = NEW.retries + 1,
            claimed_by = (SELECT c.owner_name FROM pawl.claim c WHERE c.fence = NEW.fence),
            pending_events = r.pending_events + (r.started_at IS NULL
                             AND EXISTS (SELECT FROM pawl.job j
                                         WHERE j.id = r.job_id AND j.awaited_run = r.id))::integer
        WHERE r.id = NEW.run_id;
    ELSE
        UPDATE pawl.job_run r SET state = @STATE_READY@, attempts = NEW.retries, error = NEW.last_error
        WHERE r.id = NEW.run_id;
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION pawl.queue_run_ended() RETURNS trigger
LANGUAGE plpgsql
-- @include index_plan
AS $$
DECLARE
    o pawl.outcome;
BEGIN
    SELECT e.* INTO o FROM pawl.outcome e WHERE e.id = OLD.id;
    UPDATE pawl.job_run r
    SET state = o.state, ended_at = o.finished_at, error = o.error, output = o.output,
        attempts = CASE o.state WHEN @STATE_DONE@ THEN OLD.retries + 1 WHEN @STATE_FAILED@ THEN o.retries
                                ELSE OLD.retries + (OLD.fence <> 0)::integer END,
        pending_events = r.pending_events + (EXISTS (SELECT FROM pawl.job j
                                 WHERE j.id = r.job_id
                                   AND (j.awaited_run = r.id OR j.overlap = 'queue'
                                        OR (j.overlap = 'skip' AND j.misfire = 'all'))))::integer
    WHERE r.id = OLD.run_id AND o.id IS NOT NULL;
    RETURN NULL;
END
$$;

-- Create, change, trigger, remove and read jobs.

-- Creates a job or replaces all its properties. With the same schedule and zone the next occurrence stays;
-- otherwise it is computed from now on. Returns whether the job is new. The scheduler finds an invalid schedule
-- and records it in pawl.job.problem.
CREATE OR REPLACE FUNCTION pawl.job_put(
    name text, schedule text, topic text,
    payload        bytea    DEFAULT '',
    -- @include job_options
    )
RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
    type_id CONSTANT smallint := CASE lower(job_put.type) WHEN 'signal' THEN @TYPE_SIGNAL@ WHEN 'command' THEN @TYPE_COMMAND@
                                                          WHEN 'push_call' THEN @TYPE_PUSH_CALL@ WHEN 'response' THEN @TYPE_RESPONSE@ END;
    problem text;
    created boolean;
BEGIN
    problem := CASE
        WHEN (char_length(job_put.name) BETWEEN @JOB_NAME_MIN@ AND @JOB_NAME_MAX@) IS NOT TRUE
            THEN 'name must have @JOB_NAME_RANGE@'
        WHEN (char_length(btrim(job_put.schedule)) BETWEEN @SCHEDULE_MIN@ AND @SCHEDULE_MAX@) IS NOT TRUE
            THEN 'schedule must have @SCHEDULE_RANGE@'
        WHEN (char_length(job_put.zone) BETWEEN @SCHEDULE_MIN@ AND @SCHEDULE_MAX@) IS NOT TRUE
            THEN 'zone must have @SCHEDULE_RANGE@'
        WHEN (job_put.misfire IN ('once', 'all', 'skip')) IS NOT TRUE THEN 'misfire must be once, all or skip'
        WHEN (job_put.overlap IN ('skip', 'allow', 'queue')) IS NOT TRUE THEN 'overlap must be skip, allow or queue'
        WHEN (job_put.misfire_cap BETWEEN @MISFIRE_CAP_MIN@ AND @MISFIRE_CAP_MAX@) IS NOT TRUE
            THEN 'misfire_cap must be @MISFIRE_CAP_RANGE@'
        WHEN (job_put.keep_runs BETWEEN @KEEP_RUNS_MIN@ AND @KEEP_RUNS_MAX@) IS NOT TRUE
            THEN 'keep_runs must be @KEEP_RUNS_RANGE@'
        WHEN (date_part('epoch', job_put.misfire_grace) * 1000 BETWEEN @MISFIRE_GRACE_MIN@ AND @MISFIRE_GRACE_MAX@) IS NOT TRUE
            THEN 'misfire_grace must be @MISFIRE_GRACE_RANGE@'
        WHEN (date_part('epoch', job_put.jitter) * 1000 BETWEEN @JOB_JITTER_MIN@ AND @JOB_JITTER_MAX@) IS NOT TRUE
            THEN 'jitter must be @JOB_JITTER_RANGE@'
        WHEN (date_part('epoch', job_put.lease) * 1000 BETWEEN @JOB_LEASE_MIN@ AND @JOB_LEASE_MAX@) IS NOT TRUE
            THEN 'lease must be @JOB_LEASE_RANGE@'
        WHEN (date_part('epoch', job_put.heartbeat) * 1000 BETWEEN @JOB_HEARTBEAT_MIN@ AND @JOB_HEARTBEAT_MAX@) IS NOT TRUE
            THEN 'heartbeat must be @JOB_HEARTBEAT_RANGE@'
        WHEN date_part('epoch', job_put.keep_age) * 1000 NOT BETWEEN @TTL_MIN@ AND @TTL_MAX@
            THEN 'keep_age must be @TTL_RANGE@'
        WHEN job_put.enabled IS NULL THEN 'enabled must not be NULL'
        -- message_problem() checks the rest.
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
         anchor, since, sweep_due_at)
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
        next_occurrence_at = CASE WHEN (j.schedule, j.zone) = (excluded.schedule, excluded.zone)
                            THEN j.next_occurrence_at END,
        next_due_at = CASE WHEN (j.schedule, j.zone) = (excluded.schedule, excluded.zone)
                           THEN j.next_due_at END,
        awaited_run = CASE WHEN (j.schedule, j.zone) = (excluded.schedule, excluded.zone)
                           THEN j.awaited_run END,
        next_check_at = 'epoch', sweep_due_at = least(j.sweep_due_at, excluded.sweep_due_at), version = j.version + 1,
        problem = NULL
    RETURNING j.version = 0 INTO created;
    RETURN created;
END
$$;

-- The payload as text, stored as UTF-8. Quoted literals resolve to this overload.
CREATE OR REPLACE FUNCTION pawl.job_put(
    name text, schedule text, topic text, payload text,
    -- @include job_options
    )
RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN pawl.job_put(name, schedule, topic, convert_to(payload, 'UTF8'), zone, destination, headers,
                        correlation_id, priority, type, max_attempts, retry_base, retry_max, retry_jitter,
                        misfire, misfire_cap, misfire_grace, overlap, jitter, ttl, timeout, lease,
                        heartbeat, keep_runs, keep_age, enabled);
END
$$;

-- For the library: job_enable() and job_disable() that return whether the job exists and whether it changed.
CREATE OR REPLACE FUNCTION pawl.job_switch(name text, enabled boolean) RETURNS TABLE (is_there boolean, changed boolean)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
BEGIN
    UPDATE pawl.job j
    SET enabled = job_switch.enabled, since = t, next_occurrence_at = NULL, next_due_at = NULL,
        awaited_run = NULL, next_check_at = 'epoch', updated_at = t, version = j.version + 1, problem = NULL
    WHERE j.name = job_switch.name AND j.enabled <> job_switch.enabled;
    changed := FOUND;
    is_there := changed OR EXISTS (SELECT FROM pawl.job j WHERE j.name = job_switch.name);
    RETURN NEXT;
END
$$;

CREATE OR REPLACE FUNCTION pawl.job_missing(name text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'no_data_found', MESSAGE = format('there is no job "%s"', name);
END
$$;

-- Stops scheduling occurrences; existing runs continue. Returns whether the job was enabled.
CREATE OR REPLACE FUNCTION pawl.job_disable(name text) RETURNS boolean
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

-- Schedules occurrences from now on. Returns whether the job was disabled.
CREATE OR REPLACE FUNCTION pawl.job_enable(name text) RETURNS boolean
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

-- For the library: starts a run outside the schedule. Returns the result (2 a message was enqueued, 1 the run
-- waits, 0 another run has not ended) and that run's id and state (for 0 the other run's). No row: the job does
-- not exist.
CREATE OR REPLACE FUNCTION pawl.job_fire(name text, forced boolean, message_id uuid)
RETURNS TABLE (how integer, run_id bigint, state integer)
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    xid CONSTANT xid8 := pg_current_xact_id(); -- first, as in enqueue_batch
    t   CONSTANT timestamptz := pawl.clock();
    j    pawl.job;
    busy boolean; -- a run has a message that has not ended
BEGIN
    SELECT p.* INTO j FROM pawl.job p WHERE p.name = job_fire.name FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT o.id, o.state INTO run_id, state FROM pawl.job_run o
    WHERE o.job_id = j.id AND o.state IN (@RUN_STATES_UNFINISHED@) ORDER BY o.id DESC LIMIT 1;
    IF FOUND AND NOT forced AND j.overlap <> 'allow'
       AND (j.overlap = 'skip'
            OR EXISTS (SELECT FROM pawl.job_run w WHERE w.job_id = j.id AND w.state = @RUN_WAITING@)) THEN
        how := @JOB_TRIGGER_BUSY@;
        RETURN NEXT;
        RETURN;
    END IF;
    busy := EXISTS (SELECT FROM pawl.job_run o WHERE o.job_id = j.id AND o.state IN (@RUN_STATES_STARTED@));
    INSERT INTO pawl.job_run (job_id, triggered, state, scheduled_at, last_occurrence_at, created_at)
    VALUES (j.id, true, @RUN_WAITING@, t, t, t) RETURNING id INTO run_id;
    UPDATE pawl.job p
    SET version = p.version + 1, sweep_due_at = least(p.sweep_due_at, t + interval '60 seconds'),
        next_check_at = CASE p.overlap WHEN 'queue' THEN 'epoch' ELSE p.next_check_at END
    WHERE p.id = j.id;
    IF busy AND NOT forced AND j.overlap <> 'allow' THEN
        how := @JOB_TRIGGER_WAITS@;
        state := @RUN_WAITING@;
    ELSE
        PERFORM pawl.job_start(j, run_id, message_id, t);
        PERFORM pawl.wake();
        how := @JOB_TRIGGER_STARTED@;
        state := @STATE_READY@;
    END IF;
    RETURN NEXT;
END
$$;

-- Runs a job now, outside its schedule, even if it is disabled. Returns the run's id. Fails if another run has
-- not ended and the job does not allow overlaps, unless `forced` is set.
CREATE OR REPLACE FUNCTION pawl.job_trigger(name text, forced boolean DEFAULT false) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    f record;
BEGIN
    SELECT * INTO f FROM pawl.job_fire(job_trigger.name, job_trigger.forced, pawl.new_message_id());
    IF NOT FOUND THEN
        PERFORM pawl.job_missing(job_trigger.name);
    ELSIF f.how = @JOB_TRIGGER_BUSY@ THEN
        RAISE EXCEPTION USING ERRCODE = 'object_in_use',
            MESSAGE = format('job_trigger: run %s of the job "%s" has not ended', f.run_id, job_trigger.name),
            HINT = 'Wait for it, cancel it, or set forced => true.';
    END IF;
    RETURN f.run_id;
END
$$;

-- For the library: job_delete() that returns NULL if the job does not exist.
CREATE OR REPLACE FUNCTION pawl.job_remove(name text) RETURNS bigint
LANGUAGE plpgsql VOLATILE
-- @include index_plan
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
    works := ARRAY(SELECT r.work_id FROM pawl.job_run r WHERE r.job_id = job AND r.state IN (@RUN_STATES_STARTED@));
    WITH left_queue AS (
        DELETE FROM pawl.queue q WHERE q.id = ANY (works) AND q.fence = 0
        RETURNING q.id, q.lane_id, q.retries, q.last_error, q.progress),
    -- @include end_cancelled
    SELECT count(*) INTO changed FROM left_queue;
    waiting := (SELECT count(*) FROM pawl.job_run r WHERE r.job_id = job AND r.state = @RUN_WAITING@);
    DELETE FROM pawl.job_run r WHERE r.job_id = job;
    DELETE FROM pawl.job j WHERE j.id = job;
    RETURN changed + waiting;
END
$$;

-- Removes a job and its history. Runs that are not claimed are cancelled; returns their number. Claimed runs
-- continue to their end.
CREATE OR REPLACE FUNCTION pawl.job_delete(name text) RETURNS bigint
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

CREATE OR REPLACE FUNCTION pawl.job_get(name text) RETURNS SETOF pawl.job_status
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT s.* FROM pawl.job_status s WHERE s.name = job_get.name;
END
$$;

-- Jobs by name, without payloads.
CREATE OR REPLACE FUNCTION pawl.job_list(after text DEFAULT '', max_rows bigint DEFAULT 100)
RETURNS SETOF pawl.job_status
LANGUAGE plpgsql VOLATILE
-- @include ordered_index_plan
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
        -- @include job_columns row=s payload=NULL::bytea
        FROM pawl.job_status s
        WHERE s.name > job_list.after COLLATE "C"
        ORDER BY s.name LIMIT max_rows;
END
$$;

-- A job's history (NULL: of all jobs), newest first; the library's form of reading pawl.job_runs. Scans at most
-- `scan` rows. The last scanned row is always returned, so that the next page can start there.
CREATE OR REPLACE FUNCTION pawl.job_run_list(
    job text, states bigint, before bigint, max_rows bigint, scan bigint, with_output boolean)
RETURNS TABLE (id bigint, name text, triggered boolean, state smallint, reason smallint,
               scheduled_at timestamptz, last_occurrence_at timestamptz, occurrences bigint, occurrences_more boolean,
               work_id bigint, message_id uuid, created_at timestamptz, started_at timestamptz,
               claimed_at timestamptz, ended_at timestamptz, claimed_by text, attempts integer, error text,
               output bytea, matches boolean, bounded boolean)
LANGUAGE plpgsql VOLATILE
-- @include index_plan
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
        -- @include run_columns row=r name=part:run_job output='CASE WHEN with_output THEN r.output END'
               , r.fits, full_scan
        FROM (SELECT h.*, ((1::bigint << h.state) & states) <> 0 AS fits
              FROM pawl.job_run h WHERE h.id = ANY (seen)) r
        WHERE r.fits OR r.id = last
        ORDER BY r.id DESC
        LIMIT max_rows;
END
$$;

CREATE OR REPLACE FUNCTION pawl.job_run_get(id bigint)
RETURNS TABLE (run_id bigint, name text, triggered boolean, state smallint, reason smallint,
               scheduled_at timestamptz, last_occurrence_at timestamptz, occurrences bigint, occurrences_more boolean,
               work_id bigint, message_id uuid, created_at timestamptz, started_at timestamptz,
               claimed_at timestamptz, ended_at timestamptz, claimed_by text, attempts integer, error text,
               output bytea)
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
        -- @include run_columns row=r name=part:run_job
        FROM pawl.job_run r WHERE r.id = job_run_get.id;
END
$$;

-- The two steps of the scheduler: read what is due, and apply the decisions, which are made in C.

-- Returns (0) the clock and when the next job is due; (1) the jobs that are due, that have pending events, or
-- that were planned by a clock that was ahead; (2) those events. src/core/job_tick.c relies on the columns.
CREATE OR REPLACE FUNCTION pawl.job_due(max_rows bigint)
RETURNS TABLE (kind integer, job_id bigint, seen bigint, run_id bigint, at timestamptz, next timestamptz,
               schedule text, zone text, enabled boolean, misfire text, misfire_cap integer,
               misfire_grace interval, overlap text, jitter interval, next_occurrence_at timestamptz,
               last_occurrence_at timestamptz, has_waiting boolean, awaited_is_there boolean,
               awaited_since timestamptz, planned_at timestamptz)
LANGUAGE plpgsql VOLATILE
-- @include ordered_index_plan
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
    due       bigint[];
    event_ids bigint[];
BEGIN
    kind := @JOB_DUE_CLOCK@;
    at := t;
    next := (SELECT j.next_check_at FROM pawl.job j
             WHERE j.next_check_at > t AND j.next_check_at < 'infinity' ORDER BY j.next_check_at LIMIT 1);
    RETURN NEXT;
    due := ARRAY(SELECT j.id FROM pawl.job j WHERE j.next_check_at <= t ORDER BY j.next_check_at LIMIT max_rows);
    due := due || ARRAY(SELECT j.id FROM pawl.job j WHERE j.planned_at > t + interval '5 minutes'
                        ORDER BY j.planned_at DESC LIMIT max_rows);
    event_ids := ARRAY(SELECT r.id FROM pawl.job_run r WHERE r.pending_events > 0 ORDER BY r.id LIMIT max_rows);
    IF cardinality(event_ids) > 0 THEN
        -- The events first: an event that arrives after the jobs were read is left for the next call.
        RETURN QUERY
            SELECT @JOB_DUE_EVENT@, r.job_id, r.pending_events::bigint, r.id, NULL::timestamptz, NULL::timestamptz, NULL, NULL,
                   NULL::boolean, NULL, NULL::integer, NULL::interval, NULL, NULL::interval,
                   NULL::timestamptz, NULL::timestamptz, NULL::boolean, NULL::boolean, NULL::timestamptz,
                   NULL::timestamptz
            FROM pawl.job_run r WHERE r.id = ANY (event_ids);
        due := ARRAY(SELECT d.id FROM unnest(due) AS d(id)
                     UNION
                     SELECT r.job_id FROM pawl.job_run r WHERE r.id = ANY (event_ids));
    END IF;
    IF cardinality(due) > 0 THEN
        RETURN QUERY
            SELECT @JOB_DUE_JOB@, j.id, j.version, j.awaited_run, j.anchor, j.since, j.schedule, j.zone, j.enabled,
                   j.misfire, j.misfire_cap, j.misfire_grace, j.overlap, j.jitter, j.next_occurrence_at,
                   j.last_occurrence_at,
                   EXISTS (SELECT FROM pawl.job_run o WHERE o.job_id = j.id AND o.state = @RUN_WAITING@),
                   r.id IS NOT NULL, coalesce(r.started_at, r.ended_at), j.planned_at
            FROM pawl.job j
            LEFT JOIN LATERAL (SELECT a.id, a.started_at, a.ended_at FROM pawl.job_run a
                               WHERE a.id = j.awaited_run LIMIT 1) r ON true
            WHERE j.id = ANY (due);
    END IF;
END
$$;

-- Enqueues the message of a run.
CREATE OR REPLACE FUNCTION pawl.job_start(j pawl.job, run bigint, message_id uuid, t timestamptz) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    r    pawl.job_run;
    lane CONSTANT bigint := pawl.lane_for(j.topic, j.priority, coalesce(j.destination, ''), t);
    work bigint;
    ends CONSTANT timestamptz :=
        t + coalesce(pawl.seconds(j.ttl), CASE WHEN j.destination IS NOT NULL THEN interval '@TTL_REMOTE@ milliseconds' END);
BEGIN
    SELECT h.* INTO r FROM pawl.job_run h WHERE h.id = run;
    INSERT INTO pawl.body (message_id, topic, priority, type, max_attempts, created_at, due_at, expires_at, lease,
                           retry_base, retry_max, retry_jitter, timeout, heartbeat, run_id, destination,
                           correlation_id, headers, payload)
    VALUES (job_start.message_id, j.topic, j.priority, j.type,
            coalesce(j.max_attempts, CASE WHEN j.destination IS NULL THEN @ATTEMPTS_LOCAL@ ELSE @ATTEMPTS_REMOTE@ END), t, r.scheduled_at,
            ends, pawl.seconds(j.lease), pawl.seconds(j.retry_base), pawl.seconds(j.retry_max),
            pawl.seconds(j.retry_jitter), pawl.seconds(j.timeout), pawl.seconds(j.heartbeat), run,
            j.destination, j.correlation_id,
            (coalesce(j.headers::jsonb, '{}') - 'pawl-scheduled-at'
             || jsonb_build_object('pawl-job', j.name, 'pawl-run', run::text)
             || CASE WHEN r.triggered THEN '{}'
                     ELSE jsonb_build_object('pawl-scheduled-at', replace(
                              to_char(r.scheduled_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'),
                              '.000000', '') || 'Z') END)::json,
            j.payload)
    RETURNING id INTO work;
    INSERT INTO pawl.queue (id, lane_id, run_at, expires_at, lease, run_id)
    VALUES (work, lane, t, ends, pawl.seconds(j.lease), run);
    UPDATE pawl.job_run h SET state = @STATE_READY@, work_id = work, message_id = job_start.message_id WHERE h.id = run;
    RETURN work;
END
$$;

-- Applies the scheduler's decisions: all steps of a job, or none if the job has changed since it was read, if
-- another transaction is changing it, or if the clock was set back since then. The steps are 0 update the job,
-- 1 acknowledge events, 2 start the first waiting run, 3 record skipped occurrences, 4 an occurrence that runs,
-- waits or is skipped, as the job's overlap setting requires. Returns what was done: 0, job; 3 or 4, job, state
-- of the run; 5, job, step: a message was enqueued.
CREATE OR REPLACE FUNCTION pawl.job_advance(
    steps bigint[], job_ids bigint[], seen bigint[], run_ids bigint[], occurrences timestamptz[],
    last_occurrences timestamptz[], dues timestamptz[], next_checks timestamptz[], sinces timestamptz[],
    anchors timestamptz[], counts bigint[], more boolean[], in_line boolean[], awaits boolean[],
    problems text[], message_ids uuid[], planned timestamptz[], rewinds boolean[])
RETURNS TABLE (what integer, job_id bigint, state integer)
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    xid CONSTANT xid8 := pg_current_xact_id(); -- first, as in enqueue_batch
    t   CONSTANT timestamptz := pawl.clock();
    j       pawl.job;
    current boolean := false; -- the job was unchanged and is locked
    run     bigint;
    decided smallint;
    started boolean := false;
BEGIN
    FOR i IN 1 .. cardinality(steps) LOOP
        IF steps[i] = @JOB_STEP_MOVE@ THEN
            SELECT p.* INTO j FROM pawl.job p
            WHERE p.id = job_ids[i] AND p.version = seen[i] AND planned[i] <= t FOR UPDATE SKIP LOCKED;
            current := FOUND;
            CONTINUE WHEN NOT current;
            UPDATE pawl.job p
            SET next_occurrence_at = occurrences[i], next_due_at = dues[i], next_check_at = coalesce(next_checks[i], 'infinity'),
                last_occurrence_at = CASE WHEN rewinds[i] THEN last_occurrences[i]
                                    ELSE greatest(p.last_occurrence_at, last_occurrences[i]) END,
                planned_at = planned[i], since = sinces[i],
                anchor = anchors[i], awaited_run = CASE WHEN awaits[i] THEN p.awaited_run END,
                created_at = coalesce(p.created_at, t), updated_at = coalesce(p.updated_at, t),
                sweep_due_at = CASE WHEN last_occurrences[i] IS NULL AND NOT rewinds[i] THEN p.sweep_due_at
                                ELSE least(p.sweep_due_at, t + interval '60 seconds') END,
                problem = problems[i], version = p.version + 1
            WHERE p.id = j.id;
            IF rewinds[i] THEN
                -- The clock was set back: future occurrences were not missed.
                DELETE FROM pawl.job_run r
                WHERE r.job_id = j.id AND r.state = @RUN_SKIPPED@ AND r.scheduled_at > t AND NOT r.triggered;
            END IF;
            RETURN QUERY SELECT @JOB_STEP_MOVE@, j.id, 0;
        ELSIF NOT current THEN
            CONTINUE;
        ELSIF steps[i] = @JOB_STEP_EVENT@ THEN
            UPDATE pawl.job_run r SET pending_events = 0 WHERE r.id = run_ids[i] AND r.pending_events = seen[i];
        ELSE
            IF steps[i] >= @JOB_STEP_SKIP@ THEN
                -- Every run waits first.
                decided := CASE
                    WHEN steps[i] = @JOB_STEP_RUN@
                         AND (j.overlap = 'allow' OR in_line[i]
                              OR NOT EXISTS (SELECT FROM pawl.job_run o
                                             WHERE o.job_id = j.id AND o.state IN (@RUN_STATES_UNFINISHED@))
                              OR (j.overlap = 'queue'
                                  AND NOT EXISTS (SELECT FROM pawl.job_run o
                                                  WHERE o.job_id = j.id AND o.state = @RUN_WAITING@))) THEN @RUN_WAITING@
                    ELSE @RUN_SKIPPED@ END;
                INSERT INTO pawl.job_run (job_id, state, reason, scheduled_at, last_occurrence_at, occurrences,
                                          occurrences_more, created_at)
                VALUES (j.id, decided, CASE WHEN decided = @RUN_WAITING@ THEN @RUN_NO_REASON@
                                         WHEN steps[i] = @JOB_STEP_SKIP@ THEN @RUN_MISFIRE@
                                         ELSE @RUN_OVERLAP@ END,
                        occurrences[i], coalesce(last_occurrences[i], occurrences[i]), coalesce(counts[i], 1),
                        coalesce(more[i], false), t)
                ON CONFLICT (job_id, scheduled_at) WHERE NOT triggered DO NOTHING
                RETURNING id INTO run;
                IF FOUND THEN
                    RETURN QUERY SELECT steps[i]::integer, j.id, decided::integer;
                    -- "From start": nothing else until this run is claimed; if it is skipped, the next
                    -- occurrence is computed again.
                    IF steps[i] = @JOB_STEP_RUN@ AND awaits[i] THEN
                        UPDATE pawl.job p
                        SET awaited_run = CASE WHEN decided = @RUN_WAITING@ THEN run END,
                            since = CASE WHEN decided = @RUN_WAITING@ THEN p.since ELSE t END,
                            next_check_at = CASE WHEN decided = @RUN_WAITING@ THEN p.next_check_at ELSE 'epoch' END
                        WHERE p.id = j.id;
                    END IF;
                ELSIF steps[i] = @JOB_STEP_RUN@ AND awaits[i] THEN
                    -- It has already run, before the clock was set back.
                    UPDATE pawl.job p SET since = t, next_check_at = 'epoch' WHERE p.id = j.id;
                END IF;
            END IF;
            IF steps[i] <> @JOB_STEP_SKIP@
               AND (j.overlap = 'allow'
                    OR NOT EXISTS (SELECT FROM pawl.job_run o
                                   WHERE o.job_id = j.id AND o.state IN (@RUN_STATES_STARTED@))) THEN
                run := (SELECT w.id FROM pawl.job_run w
                        WHERE w.job_id = j.id AND w.state = @RUN_WAITING@ ORDER BY w.id LIMIT 1);
                IF run IS NOT NULL THEN
                    PERFORM pawl.job_start(j, run, message_ids[i], t);
                    started := true;
                    RETURN QUERY SELECT @JOB_STEP_STARTED@, j.id, steps[i]::integer;
                END IF;
            END IF;
        END IF;
    END LOOP;
    IF started THEN
        PERFORM pawl.wake();
    END IF;
END
$$;

-- Deletes the history that a job's retention does not keep: beyond the newest keep_runs runs and as many skips,
-- or older than keep_age. Runs that have not ended and runs with unread events stay. So do, after the clock was
-- set back, future occurrences, which must not run again. Returns how many runs were removed and how many jobs
-- were read: if these are max_rows, or ten times as many, there may be more to do.
CREATE OR REPLACE FUNCTION pawl.job_clean(max_rows bigint DEFAULT 100, OUT removed bigint, OUT scanned bigint)
LANGUAGE plpgsql VOLATILE
-- @include index_plan
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
    j       pawl.job;
    deleted bigint;
BEGIN
    removed := 0;
    scanned := 0;
    FOR j IN SELECT p.* FROM pawl.job p WHERE p.sweep_due_at <= t ORDER BY p.sweep_due_at LIMIT max_rows
             FOR UPDATE SKIP LOCKED
    LOOP
        scanned := scanned + 1;
        DELETE FROM pawl.job_run d
        WHERE d.id = ANY (ARRAY(
            SELECT h.id
            FROM (SELECT r.id, r.state, r.pending_events, r.scheduled_at, coalesce(r.ended_at, r.created_at) <= t - least(pawl.seconds(j.keep_age), interval '36500 days') AS is_old,
                         row_number() OVER (PARTITION BY r.state = @RUN_SKIPPED@ ORDER BY r.id DESC) AS place
                  FROM pawl.job_run r WHERE r.job_id = j.id) h
            WHERE h.state NOT IN (@RUN_STATES_UNFINISHED@) AND h.pending_events = 0 AND h.scheduled_at <= t AND (h.place > j.keep_runs OR h.is_old)
            LIMIT 10 * max_rows));
        GET DIAGNOSTICS deleted = ROW_COUNT;
        removed := removed + deleted;
        EXIT WHEN removed >= 10 * max_rows;
        -- Check again when the oldest run gets too old. (A new run or skip makes it earlier.) Not now, because
        -- runs with unread events stay at any age.
        UPDATE pawl.job p
        SET sweep_due_at = greatest(t + interval '1 second',
                coalesce((SELECT min(coalesce(r.ended_at, r.created_at)) FROM pawl.job_run r
                          WHERE r.job_id = j.id AND r.state NOT IN (@RUN_STATES_UNFINISHED@)) + pawl.seconds(j.keep_age), 'infinity'))
        WHERE p.id = j.id;
    END LOOP;
END
$$;

-- The scheduler's two steps: what is due, and what was decided; the decisions themselves are made in C.

-- First (0) the clock and when the next job comes up; then (1) the jobs that are due, of whose runs there
-- is news, or that were planned by a clock that was ahead; then (2) those news. Columns of src/core/job_tick.c.
CREATE FUNCTION pawl.job_due(max_rows bigint)
RETURNS TABLE (kind integer, job_id bigint, seen bigint, run_id bigint, at timestamptz, next timestamptz,
               schedule text, zone text, enabled boolean, misfire text, misfire_cap integer,
               misfire_grace interval, overlap text, jitter interval, next_slot_at timestamptz,
               last_slot_at timestamptz, has_waiting boolean, awaited_is_there boolean,
               awaited_since timestamptz, planned_at timestamptz)
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
    due  bigint[];
    told bigint[];
BEGIN
    kind := 0;
    at := t;
    next := (SELECT j.look_at FROM pawl.job j
             WHERE j.look_at > t AND j.look_at < 'infinity' ORDER BY j.look_at LIMIT 1);
    RETURN NEXT;
    due := ARRAY(SELECT j.id FROM pawl.job j WHERE j.look_at <= t ORDER BY j.look_at LIMIT max_rows);
    due := due || ARRAY(SELECT j.id FROM pawl.job j WHERE j.planned_at > t + interval '5 minutes'
                        ORDER BY j.planned_at DESC LIMIT max_rows);
    told := ARRAY(SELECT r.id FROM pawl.job_run r WHERE r.news > 0 ORDER BY r.id LIMIT max_rows);
    IF cardinality(told) > 0 THEN
        -- The news first: what comes after the jobs were read is not heard yet.
        RETURN QUERY
            SELECT 2, r.job_id, r.news::bigint, r.id, NULL::timestamptz, NULL::timestamptz, NULL, NULL,
                   NULL::boolean, NULL, NULL::integer, NULL::interval, NULL, NULL::interval,
                   NULL::timestamptz, NULL::timestamptz, NULL::boolean, NULL::boolean, NULL::timestamptz,
                   NULL::timestamptz
            FROM pawl.job_run r WHERE r.id = ANY (told);
        due := ARRAY(SELECT d.id FROM unnest(due) AS d(id)
                     UNION
                     SELECT r.job_id FROM pawl.job_run r WHERE r.id = ANY (told));
    END IF;
    IF cardinality(due) > 0 THEN
        RETURN QUERY
            SELECT 1, j.id, j.version, j.awaited_run, j.anchor, j.since, j.schedule, j.zone, j.enabled,
                   j.misfire, j.misfire_cap, j.misfire_grace, j.overlap, j.jitter, j.next_slot_at,
                   j.last_slot_at,
                   EXISTS (SELECT FROM pawl.job_run o WHERE o.job_id = j.id AND o.state = 6),
                   r.id IS NOT NULL, coalesce(r.started_at, r.ended_at), j.planned_at
            FROM pawl.job j
            LEFT JOIN LATERAL (SELECT a.id, a.started_at, a.ended_at FROM pawl.job_run a
                               WHERE a.id = j.awaited_run LIMIT 1) r ON true
            WHERE j.id = ANY (due);
    END IF;
END
$$;

-- Make the message of a run.
CREATE FUNCTION pawl.job_start(j pawl.job, run bigint, message_id uuid, t timestamptz) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    r    pawl.job_run;
    lane CONSTANT bigint := pawl.lane_for(j.topic, j.priority, coalesce(j.destination, ''), t);
    work bigint;
    ends CONSTANT timestamptz :=
        t + coalesce(pawl.seconds(j.ttl), CASE WHEN j.destination IS NOT NULL THEN interval '24 hours' END);
BEGIN
    SELECT h.* INTO r FROM pawl.job_run h WHERE h.id = run;
    INSERT INTO pawl.body (message_id, topic, priority, type, max_attempts, created_at, due_at, expires_at, lease,
                           retry_base, retry_max, retry_jitter, timeout, heartbeat, run_id, destination,
                           correlation_id, headers, payload)
    VALUES (job_start.message_id, j.topic, j.priority, j.type,
            coalesce(j.max_attempts, CASE WHEN j.destination IS NULL THEN 10 ELSE 0 END), t, r.scheduled_at,
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
    UPDATE pawl.job_run h SET state = 0, work_id = work, message_id = job_start.message_id WHERE h.id = run;
    RETURN work;
END
$$;

-- What the scheduler decided: all of a job's steps, or none if the job has changed since it was read, if
-- another transaction is changing it, or if the clock was set back since then. Steps: 0 the job moves on, 1 news
-- that were heard, 2 whoever is first in line may start, 3 slots that are skipped, 4 a slot that runs, waits or
-- is skipped, as the job says of overlaps. Answers what was done: 0, job; 3 or 4, job, state of the run; 5, job,
-- step: a message was made.
CREATE FUNCTION pawl.job_advance(
    steps bigint[], job_ids bigint[], seen bigint[], run_ids bigint[], slots timestamptz[],
    last_slots timestamptz[], dues timestamptz[], looks timestamptz[], sinces timestamptz[],
    anchors timestamptz[], counts bigint[], more boolean[], in_line boolean[], awaits boolean[],
    problems text[], message_ids uuid[], planned timestamptz[], rewinds boolean[])
RETURNS TABLE (what integer, job_id bigint, state integer)
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
    j       pawl.job;
    mine    boolean := false;
    run     bigint;
    decided smallint;
    started boolean := false;
BEGIN
    FOR i IN 1 .. cardinality(steps) LOOP
        IF steps[i] = 0 THEN
            SELECT p.* INTO j FROM pawl.job p
            WHERE p.id = job_ids[i] AND p.version = seen[i] AND planned[i] <= t FOR UPDATE SKIP LOCKED;
            mine := FOUND;
            CONTINUE WHEN NOT mine;
            UPDATE pawl.job p
            SET next_slot_at = slots[i], next_due_at = dues[i], look_at = coalesce(looks[i], 'infinity'),
                last_slot_at = CASE WHEN rewinds[i] THEN last_slots[i]
                                    ELSE greatest(p.last_slot_at, last_slots[i]) END,
                planned_at = planned[i], since = sinces[i],
                anchor = anchors[i], awaited_run = CASE WHEN awaits[i] THEN p.awaited_run END,
                created_at = coalesce(p.created_at, t), updated_at = coalesce(p.updated_at, t),
                sweep_at = CASE WHEN last_slots[i] IS NULL AND NOT rewinds[i] THEN p.sweep_at
                                ELSE least(p.sweep_at, t + interval '60 seconds') END,
                problem = problems[i], version = p.version + 1
            WHERE p.id = j.id;
            IF rewinds[i] THEN
                -- The clock was set back: occurrences that are still to come were not missed.
                DELETE FROM pawl.job_run r
                WHERE r.job_id = j.id AND r.state = 7 AND r.scheduled_at > t AND NOT r.triggered;
            END IF;
            RETURN QUERY SELECT 0, j.id, 0;
        ELSIF NOT mine THEN
            CONTINUE;
        ELSIF steps[i] = 1 THEN
            UPDATE pawl.job_run r SET news = 0 WHERE r.id = run_ids[i] AND r.news = seen[i];
        ELSE
            IF steps[i] >= 3 THEN
                -- Everything that will run waits first.
                decided := CASE
                    WHEN steps[i] = 4
                         AND (j.overlap = 'allow' OR in_line[i]
                              OR NOT EXISTS (SELECT FROM pawl.job_run o
                                             WHERE o.job_id = j.id AND o.state IN (0, 1, 6))
                              OR (j.overlap = 'queue'
                                  AND NOT EXISTS (SELECT FROM pawl.job_run o
                                                  WHERE o.job_id = j.id AND o.state = 6))) THEN 6
                    ELSE 7 END;
                INSERT INTO pawl.job_run (job_id, state, reason, scheduled_at, last_slot_at, slots,
                                          slots_more, created_at)
                VALUES (j.id, decided, CASE WHEN decided = 6 THEN 0 WHEN steps[i] = 3 THEN 2 ELSE 1 END,
                        slots[i], coalesce(last_slots[i], slots[i]), coalesce(counts[i], 1),
                        coalesce(more[i], false), t)
                ON CONFLICT (job_id, scheduled_at) WHERE NOT triggered DO NOTHING
                RETURNING id INTO run;
                IF FOUND THEN
                    RETURN QUERY SELECT steps[i]::integer, j.id, decided::integer;
                    -- "From start": nothing more until it is claimed; if it is skipped, it is computed again.
                    IF steps[i] = 4 AND awaits[i] THEN
                        UPDATE pawl.job p
                        SET awaited_run = CASE WHEN decided = 6 THEN run END,
                            since = CASE WHEN decided = 6 THEN p.since ELSE t END,
                            look_at = CASE WHEN decided = 6 THEN p.look_at ELSE 'epoch' END
                        WHERE p.id = j.id;
                    END IF;
                ELSIF steps[i] = 4 AND awaits[i] THEN
                    -- It has run, before the clock was set back.
                    UPDATE pawl.job p SET since = t, look_at = 'epoch' WHERE p.id = j.id;
                END IF;
            END IF;
            IF steps[i] <> 3
               AND (j.overlap = 'allow'
                    OR NOT EXISTS (SELECT FROM pawl.job_run o
                                   WHERE o.job_id = j.id AND o.state IN (0, 1))) THEN
                run := (SELECT w.id FROM pawl.job_run w
                        WHERE w.job_id = j.id AND w.state = 6 ORDER BY w.id LIMIT 1);
                IF run IS NOT NULL THEN
                    PERFORM pawl.job_start(j, run, message_ids[i], t);
                    started := true;
                    RETURN QUERY SELECT 5, j.id, steps[i]::integer;
                END IF;
            END IF;
        END IF;
    END LOOP;
    IF started THEN
        PERFORM pawl.wake();
    END IF;
END
$$;

-- Forget what the jobs whose history is to be looked at do not want to keep: beyond the newest keep_runs
-- runs and as many skips, or too old. What has not ended stays, what the scheduler has not heard of, and,
-- when the clock was set back, what is still to come: it must not run again.
-- Answers how many runs were removed, and how many jobs were read: if these are max_rows, or those ten times
-- as many, there may be more to do.
CREATE FUNCTION pawl.job_clean(max_rows bigint DEFAULT 100, OUT removed bigint, OUT scanned bigint)
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    t CONSTANT timestamptz := pawl.clock();
    j       pawl.job;
    gone    bigint;
BEGIN
    removed := 0;
    scanned := 0;
    FOR j IN SELECT p.* FROM pawl.job p WHERE p.sweep_at <= t ORDER BY p.sweep_at LIMIT max_rows
             FOR UPDATE SKIP LOCKED
    LOOP
        scanned := scanned + 1;
        DELETE FROM pawl.job_run d
        WHERE d.id = ANY (ARRAY(
            SELECT h.id
            FROM (SELECT r.id, r.state, r.news, r.scheduled_at, coalesce(r.ended_at, r.created_at) <= t - least(pawl.seconds(j.keep_age), interval '36500 days') AS is_old,
                         row_number() OVER (PARTITION BY r.state = 7 ORDER BY r.id DESC) AS place
                  FROM pawl.job_run r WHERE r.job_id = j.id) h
            WHERE h.state NOT IN (0, 1, 6) AND h.news = 0 AND h.scheduled_at <= t AND (h.place > j.keep_runs OR h.is_old)
            LIMIT 10 * max_rows));
        GET DIAGNOSTICS gone = ROW_COUNT;
        removed := removed + gone;
        EXIT WHEN removed >= 10 * max_rows;
        -- Again when the oldest gets too old. (A run or a skip brings it forward.) Not now: what the
        -- scheduler has not heard of stays, however old.
        UPDATE pawl.job p
        SET sweep_at = greatest(t + interval '1 second',
                coalesce((SELECT min(coalesce(r.ended_at, r.created_at)) FROM pawl.job_run r
                          WHERE r.job_id = j.id AND r.state NOT IN (0, 1, 6)) + pawl.seconds(j.keep_age), 'infinity'))
        WHERE p.id = j.id;
    END LOOP;
END
$$;

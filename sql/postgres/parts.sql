-- sql/postgres/parts.sql - fragments that several functions include.
--
-- First, planner settings. plpgsql keeps the plan of a statement. A queue is usually empty, and a plan made
-- while the tables are empty would use sequential scans until the next ANALYZE, even after a million rows have
-- arrived. These settings leave the planner only index scans. force_generic_plan: plans never depend on
-- parameter values, and calls do not pay for planning. jit: a disabled plan node has a huge nominal cost, which
-- alone would start JIT compilation.
--
-- index_plan             index scans only
-- ordered_index_plan     index scans that return the rows in order (no sort)
-- nested_...             in addition, only nested-loop joins with an index on the inner table

-- part: index_plan
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off

-- part: ordered_index_plan
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
SET jit = off

-- part: nested_index_plan
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off

-- part: nested_ordered_index_plan
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off

-- part: check_ids
PERFORM pawl.check_number('@function@: the number of ids', coalesce(cardinality(ids), 0), 0, @BATCH_MAX@,
                          'at most @BATCH_MAX@');

-- part: held_under
-- The rows that the caller still owns under the given fences. `id = ANY (ids)` walks the primary key in id
-- order, so that two calls on the same rows wait for each other instead of deadlocking. A hash table that is
-- built once checks the pairs; IS TRUE keeps the planner from turning it into a join.
WHERE @row@.id = ANY (ids) AND @row@.owner = @function@.owner AND @row@.fence <> 0
  AND ((@row@.id, @row@.fence) IN (SELECT h.id, h.fence FROM unnest(ids, fences) AS h(id, fence))) IS TRUE

-- part: which
-- In a statement: which of the listed messages the call `a` has changed, if it is not all (leave_which).
CASE WHEN a.changed OPERATOR(pg_catalog.<) pg_catalog.cardinality(:id)
     THEN pg_catalog.current_setting('pawl_scan.which', true) END AS which

-- part: leave_which
-- For the statement that calls this function: which of the listed messages it has changed, if it is not all.
IF @ids@ IS NOT NULL AND cardinality(@ids@) < cardinality(ids) THEN
    PERFORM pawl.leave_which(ids, fences, @ids@, @fences@);
END IF;

-- part: find_renewed
-- What was renewed is locked and still owned, so it can be found afterwards.
IF changed > 0 AND changed < cardinality(ids) THEN
    SELECT array_agg(q.id), array_agg(q.fence) INTO held_ids, held_fences FROM pawl.@table@ q
    -- @include held_under function=@function@ row=q
    ;
    PERFORM pawl.leave_which(ids, fences, held_ids, held_fences);
END IF;

-- part: lock_held
SELECT array_agg(m.id), array_agg(m.fence) INTO held_ids, ended
FROM (SELECT q.id, q.fence FROM pawl.@table@ q
      -- @include held_under function=@function@ row=q
      ORDER BY q.id
      FOR UPDATE) m;
IF held_ids IS NULL THEN
    RETURN 0;
END IF;
-- @include leave_which ids=held_ids fences=ended

-- part: later_arguments
owner uuid, ids bigint[], fences bigint[],
error         text     DEFAULT NULL,
delay         interval DEFAULT NULL,
local_base    interval DEFAULT interval '@BACKOFF_LOCAL_BASE@ milliseconds',
local_max     interval DEFAULT interval '@BACKOFF_LOCAL_MOST@ milliseconds',
local_jitter  interval DEFAULT interval '0',
remote_base   interval DEFAULT interval '@BACKOFF_REMOTE_BASE@ milliseconds',
remote_max    interval DEFAULT interval '@BACKOFF_REMOTE_MOST@ milliseconds',
remote_jitter interval DEFAULT NULL

-- part: check_later
IF @function@.delay IS NOT NULL THEN
    PERFORM pawl.check_span('@function@: delay', @function@.delay, @DELAY_MIN@, @DELAY_MAX@, '@DELAY_RANGE@');
END IF;
PERFORM pawl.check_span('@function@: local_base', @function@.local_base, @BACKOFF_MIN@, @BACKOFF_MAX@, '@BACKOFF_RANGE@');
PERFORM pawl.check_span('@function@: local_max', @function@.local_max, @BACKOFF_MIN@, @BACKOFF_MAX@, '@BACKOFF_RANGE@');
PERFORM pawl.check_span('@function@: local_jitter', coalesce(@function@.local_jitter, interval '0'), @JITTER_MIN@, @JITTER_MAX@, '@JITTER_RANGE@');
PERFORM pawl.check_span('@function@: remote_base', @function@.remote_base, @BACKOFF_MIN@, @BACKOFF_MAX@, '@BACKOFF_RANGE@');
PERFORM pawl.check_span('@function@: remote_max', @function@.remote_max, @BACKOFF_MIN@, @BACKOFF_MAX@, '@BACKOFF_RANGE@');
PERFORM pawl.check_span('@function@: remote_jitter', coalesce(@function@.remote_jitter, interval '0'), @JITTER_MIN@, @JITTER_MAX@, '@JITTER_RANGE@');

-- part: give_back_later
-- Delay the next attempt by `delay`, or by min(base * 2^(retries + deferrals), max) + random(0, jitter). The
-- policy is the message's own, or the given local policy for messages without a destination and the remote
-- policy for those with one. A NULL jitter means a tenth of the delay.
UPDATE pawl.queue q
SET @counter@ = q.@counter@ + 1, owner = '00000000-0000-0000-0000-000000000000',
    lease_until = 'epoch', fence = 0, last_error = coalesce(pawl.cut_text(@function@.error), q.last_error),
    stamped_at = t, run_at = t + coalesce(@function@.delay, (
        SELECT d.delay + random() * CASE WHEN d.jitter IS NULL THEN d.delay / 10
                                         ELSE pawl.backoff(d.jitter, interval '@JITTER_MAX@ milliseconds', 0) END
        FROM (SELECT pawl.backoff(
                         coalesce(b.retry_base, CASE WHEN b.destination IS NULL THEN local_base ELSE remote_base END),
                         coalesce(b.retry_max, CASE WHEN b.destination IS NULL THEN local_max ELSE remote_max END),
                         q.retries + q.deferrals) AS delay,
                     CASE WHEN b.retry_base IS NOT NULL THEN b.retry_jitter
                          WHEN b.destination IS NULL THEN local_jitter ELSE remote_jitter END AS jitter
              FROM pawl.body b WHERE b.id = q.id) d))
WHERE q.id = ANY (held_ids);

-- part: end_failed
-- The messages of `left_queue` become dead letters.
ended AS (
    INSERT INTO pawl.outcome (id, state, finished_at, retries, processed_by, error, expires_at,
                              progress)
    SELECT g.id, @STATE_FAILED@, t, g.retries + 1,
           (SELECT c.owner_name FROM pawl.claim c WHERE c.fence = g.fence),
           @error@, g.expires_at, g.progress
    FROM left_queue g),
-- @include record_dead_letters
,
-- @include end_counted state=@STATE_FAILED@

-- part: record_dead_letters
-- Record them for the dead-letter handler, if the topic has one.
dead_letters AS (
    INSERT INTO pawl.dead (id, run_at)
    SELECT g.id, t FROM left_queue g
    WHERE EXISTS (SELECT FROM pawl.topic w
                  WHERE w.dead AND w.name IN ('', (SELECT l.topic FROM pawl.lane l WHERE l.id = g.lane_id)))
    ON CONFLICT (id) DO NOTHING)

-- part: end_cancelled
-- The messages of `left_queue` become cancelled.
ended AS (
    INSERT INTO pawl.outcome (id, state, finished_at, retries, error, progress)
    SELECT g.id, @STATE_CANCELLED@, t, g.retries, g.last_error, g.progress FROM left_queue g),
-- @include end_counted state=@STATE_CANCELLED@

-- part: end_counted
counted AS (
    INSERT INTO pawl.topic_stats_delta (lane_id, state, n)
    SELECT g.lane_id, @state@, count(*) FROM left_queue g GROUP BY g.lane_id)

-- part: ready_from_the_cursor_on
-- One range of queue_due: the rows of a lane that are ready and due, starting at the claim's cursor.
FROM pawl.queue c
WHERE c.lane_id = lane.id AND c.run_at <= t
  AND c.run_at >= coalesce(cursor_since[least(lane.id - cursor_first + 1, 2147483647)::integer], '-infinity')
  AND c.fence = 0 AND (c.expires_at IS NULL OR c.expires_at > t)
ORDER BY c.run_at, c.id

-- part: ready_rows
CROSS JOIN LATERAL (
    SELECT c.id, c.lease, c.retries, c.deferrals, c.run_at, c.expires_at, c.last_error, c.progress
    -- @include ready_from_the_cursor_on
    LIMIT max_rows
    FOR UPDATE SKIP LOCKED) r

-- part: take_rows
-- The rows of a claim in order, as parallel arrays, and how far the scan got if there may be more rows.
SELECT array_agg(q.id), array_agg(q.lane), array_agg(q.retries), array_agg(q.deferrals), array_agg(q.run_at),
       array_agg(least(coalesce(q.lease, my_lease), longest)), array_agg(q.expires_at),
       array_agg(q.last_error), array_agg(q.progress), least(min(coalesce(q.lease, my_lease)), longest),
       CASE WHEN count(*) = max_rows THEN @reached@ END
INTO taken, from_lane, tries, waits, times, leases, expiries, errors, reports, shortest, reached

-- part: lanes_by_turns
-- The local lanes by descending priority; lanes of equal priority in rotation, starting after `pivot`.
FROM generate_series(@PRIORITY_MAX@, @PRIORITY_MIN@, -1) AS p(priority)
CROSS JOIN LATERAL (
    (SELECT l.id FROM pawl.lane l
     WHERE l.destination = '' AND l.priority = p.priority AND l.id > pivot
       AND NOT coalesce(l.paused, pawl.topic_paused(l.topic)) ORDER BY l.id)
    UNION ALL
    (SELECT l.id FROM pawl.lane l
     WHERE l.destination = '' AND l.priority = p.priority AND l.id <= pivot
       AND NOT coalesce(l.paused, pawl.topic_paused(l.topic)) ORDER BY l.id)) w

-- part: leave_notes
-- The notes of a scan, for claim_notes(). One statement, so that all of them come from one snapshot.
PERFORM set_config('pawl_scan.notes', (
    SELECT array_agg(ARRAY[n.item, n.number,
                           CASE WHEN n.at = '-infinity' THEN -9223372036854775807
                                ELSE (extract(epoch FROM n.at) * 1000000)::bigint END])::text
    FROM (
        -- @include cursor_notes

-- part: leave_notes_end
    ) AS n(item, number, at)), true);

-- part: cursor_notes
-- The running transactions, for the next claim's cursor (docs/internals/claim-cursor.md).
SELECT @NOTE_EPOCH@, my_xid::text::bigint, began
UNION ALL
-- Not the end of the snapshot: the snapshot of a slow claim may show ids above its own as running, and those
-- are not listed.
SELECT @NOTE_NEXT@, least(pg_snapshot_xmax(pg_current_snapshot()), my_xid)::text::bigint, NULL
UNION ALL
SELECT @NOTE_RUNNING@, x.xid::text::bigint, NULL
FROM pg_snapshot_xip(pg_current_snapshot()) AS x(xid) WHERE x.xid < my_xid

-- part: state_word
CASE state WHEN @STATE_SCHEDULED@ THEN 'scheduled' WHEN @STATE_READY@ THEN 'ready' WHEN @STATE_RUNNING@ THEN 'running'
           WHEN @STATE_DONE@ THEN 'done' WHEN @STATE_FAILED@ THEN 'failed' WHEN @STATE_EXPIRED@ THEN 'expired'
           WHEN @STATE_CANCELLED@ THEN 'cancelled' END AS status,

-- part: list_head
    states         bigint      DEFAULT 127,
    topic          text        DEFAULT NULL,
    correlation_id text        DEFAULT NULL,
    created_before timestamptz DEFAULT NULL,
    before         bigint      DEFAULT 9223372036854775807,
    max_rows       bigint      DEFAULT 100,
    scan           bigint      DEFAULT 10000,
    with_payload   boolean     DEFAULT false)
RETURNS SETOF pawl.listed
LANGUAGE plpgsql VOLATILE
-- @include nested_ordered_index_plan
AS $$
#variable_conflict use_column
DECLARE

-- part: list_end
BEGIN
    RETURN QUERY
        -- @include message_columns row=l before='l.matches, l.bounded'
        FROM pawl.list_seen(
            seen, cardinality(seen) = @function@.scan, @function@.states, @function@.topic,
            @function@.correlation_id, @function@.created_before, @function@.max_rows,
            @function@.with_payload) l;
END
$$;

-- part: state_of_view
-- A message past its expiry reads as expired even before maintenance has moved it; one that is not due yet
-- reads as scheduled.
CASE WHEN q.fence <> 0 THEN @STATE_RUNNING@
     WHEN q.expires_at <= (SELECT pawl.now()) THEN @STATE_EXPIRED@
     WHEN o.state = @STATE_FAILED@ AND o.expires_at <= (SELECT pawl.now()) THEN @STATE_EXPIRED@
     WHEN q.run_at > (SELECT pawl.now()) THEN @STATE_SCHEDULED@
     ELSE coalesce(o.state, @STATE_READY@) END::smallint

-- part: first_due
SELECT min(d.run_at) INTO first_due
FROM pawl.lane l
CROSS JOIN LATERAL (SELECT q.run_at FROM pawl.queue q
                    WHERE q.lane_id = l.id AND q.run_at > t
                    ORDER BY q.run_at, q.id LIMIT 1) d

-- part: enqueue_bytes
RETURNS uuid
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN pawl.enqueue(topic, convert_to(@payload@, 'UTF8'), message_id, due_at, delay, priority,
                        correlation_id, destination, headers, type, expires_at, max_attempts, lease,
                        retry_base, retry_max, retry_jitter, timeout, heartbeat, count_all, ordering_key,
                        unique_key, tags);
END
$$;

-- part: message_arrays
-- The messages of a call, one array per column.
message_ids uuid[], topics text[], payloads bytea[], types bigint[],
destinations text[], headers text[], correlation_ids text[], priorities bigint[],
due_times timestamptz[], delays interval[], expiries timestamptz[], ttls interval[],
max_attempts bigint[], leases interval[], retry_bases interval[], retry_maxes interval[],
retry_jitters interval[], timeouts interval[], heartbeats interval[]

-- part: message_arrays_added
-- What later versions have added, at the end of the arguments.
count_alls boolean[] DEFAULT NULL, ordering_keys text[] DEFAULT NULL, unique_keys text[] DEFAULT NULL,
tag_lists text[] DEFAULT NULL -- of JSON arrays

-- part: message_values
message_ids, topics, payloads, types, destinations, headers, correlation_ids, priorities, due_times, delays,
expiries, ttls, max_attempts, leases, retry_bases, retry_maxes, retry_jitters, timeouts, heartbeats, count_alls,
ordering_keys, unique_keys, tag_lists

-- part: message_names
-- The columns of unnest(message_values).
message_id, topic, payload, type, destination, headers, correlation_id, priority, due_at, delay,
expires_at, ttl, max_attempts, lease, retry_base, retry_max, retry_jitter, timeout, heartbeat, count_all,
ordering_key, unique_key, tag_list

-- part: message_rows
-- The same as the library sends them.
positions => :position, message_ids => :message_id, topics => :topic, payloads => :payload,
types => :type, destinations => :destination, headers => :headers,
correlation_ids => :correlation_id, priorities => :priority, due_times => :due_at,
delays => :delay, expiries => :expires_at, ttls => :ttl, max_attempts => :max_attempts,
leases => :lease, retry_bases => :retry_base, retry_maxes => :retry_max,
retry_jitters => :retry_jitter, timeouts => :timeout, heartbeats => :heartbeat,
count_alls => :count_all, ordering_keys => :ordering_key, unique_keys => :unique_key, tag_lists => :tags

-- part: message_options
-- The options of one message.
message_id     uuid        DEFAULT NULL,     -- NULL: generated
due_at         timestamptz DEFAULT NULL,     -- NULL: now; the past means now
delay          interval    DEFAULT NULL,     -- instead of due_at: relative to now
priority       integer     DEFAULT 0,        -- 0 to 9, higher first
correlation_id text        DEFAULT NULL,
destination    text        DEFAULT NULL,     -- NULL: for a local handler
headers        json        DEFAULT NULL,
type           text        DEFAULT 'signal', -- signal, command, push_call, response
expires_at     timestamptz DEFAULT NULL,     -- NULL: never; with a destination, 24 h after it is due
max_attempts   integer     DEFAULT NULL,     -- NULL: 10; with a destination 6 if every send counts, else 0: no limit
lease          interval    DEFAULT NULL,     -- NULL: the worker's setting
retry_base     interval    DEFAULT NULL,     -- all three NULL: the worker's policy
retry_max      interval    DEFAULT NULL,
retry_jitter   interval    DEFAULT NULL,
timeout        interval    DEFAULT NULL,     -- of one attempt; NULL: the handler's setting
heartbeat      interval    DEFAULT NULL,     -- how often the lease is renewed; NULL: the worker's setting
count_all      boolean     DEFAULT NULL,     -- with a destination: whether every send is an attempt; NULL: set by the service
ordering_key   text        DEFAULT NULL,     -- this one and the next two are stored and shown, without effect
unique_key     text        DEFAULT NULL,
tags           text[]      DEFAULT NULL

-- part: timer_options
due_at         timestamptz DEFAULT NULL,
delay          interval    DEFAULT NULL,
message_id     uuid        DEFAULT NULL, -- NULL: generated
priority       integer     DEFAULT 0,    -- 0 to 9, higher first
correlation_id text        DEFAULT NULL,
destination    text        DEFAULT NULL, -- NULL: for a local handler
headers        json        DEFAULT NULL,
ordering_key   text        DEFAULT NULL, -- this one and the next two: as in enqueue()
unique_key     text        DEFAULT NULL,
tags           text[]      DEFAULT NULL,
OUT id uuid, OUT due timestamptz

-- part: schedule_bytes
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_variable
BEGIN
    SELECT s.id, s.due INTO id, due
    FROM pawl.schedule(topic, convert_to(@payload@, 'UTF8'), due_at, delay, message_id, priority,
                       correlation_id, destination, headers, ordering_key, unique_key, tags) s;
END
$$;

-- part: job_options
zone           text     DEFAULT 'UTC',      -- an IANA time zone name
destination    text     DEFAULT NULL,       -- NULL: for a local handler
headers        json     DEFAULT NULL,
correlation_id text     DEFAULT NULL,
priority       bigint   DEFAULT 0,          -- 0 to 9, higher first
type           text     DEFAULT 'signal',
max_attempts   bigint   DEFAULT NULL,       -- of a run; NULL: 10; with a destination, until it expires
retry_base     interval DEFAULT NULL,       -- all three NULL: the worker's policy
retry_max      interval DEFAULT NULL,
retry_jitter   interval DEFAULT NULL,
misfire        text     DEFAULT 'once',     -- once, all, skip
misfire_cap    bigint   DEFAULT @MISFIRE_CAP_DEFAULT@,
misfire_grace  interval DEFAULT interval '@MISFIRE_GRACE_DEFAULT@ milliseconds',
overlap        text     DEFAULT 'skip',     -- skip, allow, queue
jitter         interval DEFAULT interval '0',
ttl            interval DEFAULT NULL,       -- NULL: none, or 24 h with a destination
timeout        interval DEFAULT NULL,       -- of one attempt; NULL: none
lease          interval DEFAULT interval '@JOB_LEASE_DEFAULT@ milliseconds',
heartbeat      interval DEFAULT interval '@JOB_HEARTBEAT_DEFAULT@ milliseconds',
keep_runs      bigint   DEFAULT @KEEP_RUNS_DEFAULT@,
keep_age       interval DEFAULT NULL,       -- NULL: unlimited
enabled        boolean  DEFAULT true        -- of a new job; an existing job keeps its setting

-- part: job_unfinished
(SELECT count(*) FROM pawl.job_run o
 WHERE o.job_id = j.id AND o.state IN (@RUN_STATES_UNFINISHED@))

-- part: run_job
(SELECT j.name FROM pawl.job j WHERE j.id = r.job_id)

-- part: held_of_claim
-- The messages that claim c still holds. The LIMIT keeps the planner from reading the whole queue.
FROM @ids@
CROSS JOIN LATERAL (SELECT @columns@ FROM pawl.queue q WHERE q.id = u.id AND q.fence = c.fence LIMIT 1) r

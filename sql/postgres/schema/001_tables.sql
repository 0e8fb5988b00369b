-- The work queue: one immutable body row per message, a small queue row while it is unfinished,
-- an outcome row when it is finished. docs/internals/queue.md explains the design.
--
-- There are no foreign keys between these tables. Only the functions in sql/postgres/functions write them, and
-- each function keeps them consistent in one transaction.

-- Pin the search_path: defaults and checks keep the operators that they resolve to now, and must not use any
-- from public.
SET LOCAL search_path = pg_catalog, pg_temp;

-- A role without CREATE on the database can install into a schema that a DBA created for it.
DO $$
BEGIN
    CREATE SCHEMA pawl;
EXCEPTION
    WHEN duplicate_schema THEN NULL;
    WHEN insufficient_privilege THEN
        IF to_regnamespace(split_part('pawl.x', '.', 1)) IS NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
                MESSAGE = format('the schema %s does not exist and may not be created',
                                 split_part('pawl.x', '.', 1)),
                HINT = 'Run as a role with CREATE on the database, or let a DBA create the schema for this role.';
        END IF;
END
$$;

CREATE TABLE pawl.meta (
    product         text    NOT NULL CHECK (product = 'pawl'),
    version         integer NOT NULL,   -- of this schema
    compatible_from integer NOT NULL,   -- the oldest schema number of a library that may use this schema
    -- The library release that created the functions and views, and a digest of their text.
    code_release    integer NOT NULL DEFAULT 0,
    code_digest     text    NOT NULL DEFAULT '',
    -- Secret input for advisory lock keys, so that no other role can compute them.
    lock_secret     bytea   NOT NULL DEFAULT uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
);
INSERT INTO pawl.meta (product, version, compatible_from) VALUES ('pawl', 1, 1);

-- Mutually exclusive operations lock one of these rows until their transaction ends. Advisory locks are not
-- used here because any database user may take them and block everybody else. The rows never change.
CREATE TABLE pawl.mutex (
    name text PRIMARY KEY CHECK (name IN ('lanes', 'topics', 'totals'))
);
INSERT INTO pawl.mutex (name) VALUES ('lanes'), ('topics'), ('totals');

-- The one counter of fencing tokens. CACHE 1, because a cached range would give a later claim a lower token.
CREATE SEQUENCE pawl.fence AS bigint CACHE 1;

-- Settings per topic. A row may exist before the topic's first message; '' is the row for all topics.
CREATE TABLE pawl.topic (
    name      text        PRIMARY KEY CHECK (char_length(name) <= @TOPIC_MAX@),
    paused_at timestamptz CHECK (name <> '' OR paused_at IS NULL), -- NULL: not paused
    dead      boolean     NOT NULL DEFAULT false                   -- dead letters are recorded for a handler
);
CREATE INDEX topic_dead ON pawl.topic (name) WHERE dead;

-- A lane is one topic at one priority and for one destination. It is the unit that a claim scans. Only rows of
-- pawl.queue refer to it, and lane_clean() removes it after it has been empty for a while. (topic, priority,
-- destination) is deliberately not unique: two open transactions that first use the same new topics in opposite
-- order would deadlock on a unique index. A transaction that sees no usable lane adds one, so a topic may get
-- two lanes of one priority. That is harmless: claim and stats walk all lanes of a topic. An id is never
-- reused, because a claim cursor may remember it.
CREATE TABLE pawl.lane (
    id          bigint   GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    topic       text     NOT NULL CHECK (char_length(topic) BETWEEN @TOPIC_MIN@ AND @TOPIC_MAX@),
    priority    smallint NOT NULL CHECK (priority BETWEEN @PRIORITY_MIN@ AND @PRIORITY_MAX@),
    paused      boolean,                    -- cached from pawl.topic; NULL: not known, call topic_paused()
    retiring    boolean  NOT NULL DEFAULT false, -- gets no further messages; removed when empty
    destination text     COLLATE "C" NOT NULL DEFAULT '', -- '': for local handlers
    woken       bigint   NOT NULL DEFAULT 0 -- the token drawn by the last wake_destination()
);
CREATE INDEX lane_topic ON pawl.lane (topic, destination, priority, id);
CREATE INDEX lane_order ON pawl.lane (destination, priority, id);
CREATE INDEX lane_pause_unread ON pawl.lane (id) WHERE paused IS NULL;

-- When a lane was last in use, as far as lane_clean() knows; one row per lane. It is a separate table because
-- updates of the lane row would make every claim walk over dead row versions.
CREATE TABLE pawl.lane_use (
    lane_id bigint      PRIMARY KEY,
    used_at timestamptz NOT NULL,
    epoch   bigint                      -- of a retiring lane: a transaction id drawn after it was marked
);
CREATE INDEX lane_use_age ON pawl.lane_use (used_at) WHERE epoch IS NULL;
CREATE INDEX lane_use_epoch ON pawl.lane_use (epoch) WHERE epoch IS NOT NULL;

-- PostgreSQL reads and compiles every CHECK again for each INSERT statement, at about four microseconds each.
-- The table therefore has only the checks that keep a message readable; the functions and the library check the
-- rest.
CREATE TABLE pawl.body (
    id             bigint      GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, -- the work id, never reused
    message_id     uuid        NOT NULL UNIQUE,
    topic          text        NOT NULL,
    priority       smallint    NOT NULL,
    type           smallint    NOT NULL,                  -- 0 signal, 1 command, 2 push_call, 3 response
    max_attempts   smallint    NOT NULL,                  -- 0: until it expires (remote messages only)
    count_all      boolean,                               -- whether every send is an attempt; NULL: the service's setting
    created_at     timestamptz NOT NULL,
    due_at         timestamptz NOT NULL,                  -- as requested, even if in the past
    delayed        boolean,                               -- whether a delay was requested; NULL: a time, or neither
    expires_at     timestamptz,
    lease          interval,                              -- overrides the worker's lease
    retry_base     interval,                              -- overrides the worker's backoff policy
    retry_max      interval,
    retry_jitter   interval,
    timeout        interval,                              -- of one attempt
    heartbeat      interval,                              -- how often the worker renews the lease
    run_id         bigint,                                -- the job run that this message belongs to
    destination    text,
    correlation_id text,
    headers        json        CHECK (json_typeof(headers) = 'object'),
    payload        bytea       NOT NULL,
    CHECK (type BETWEEN @TYPE_MIN@ AND @TYPE_MAX@ AND max_attempts BETWEEN @REMOTE_ATTEMPTS_MIN@ AND @REMOTE_ATTEMPTS_MAX@
           AND (max_attempts > 0 OR (destination IS NOT NULL AND count_all IS NOT TRUE))
           AND char_length(correlation_id) BETWEEN @CORRELATION_MIN@ AND @CORRELATION_MAX@)
);

-- Unfinished messages only. owner, lease_until and fence hold placeholders while the message is not claimed.
-- They have a fixed size and are in no index, so a claim is a HOT update on a page that fillfactor keeps half
-- empty, and writes no index entry.
CREATE TABLE pawl.queue (
    id          bigint      PRIMARY KEY,
    fence       bigint      NOT NULL DEFAULT 0,
    run_at      timestamptz NOT NULL,           -- earliest time of the next claim
    lease_until timestamptz NOT NULL DEFAULT 'epoch',
    owner       uuid        NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    lane_id     bigint      NOT NULL,
    retries     integer     NOT NULL DEFAULT 0, -- failed attempts
    deferrals   integer     NOT NULL DEFAULT 0, -- failed sends that did not count as attempts
    expires_at  timestamptz,
    lease       interval,                       -- copied from the body, so that a claim needs no join
    run_id      bigint,                         -- copied, too; the triggers of functions/job.sql follow such rows
    stamped_at  timestamptz,                    -- the clock when run_at was set; NULL: created_at
    last_error  text,
    progress    text                            -- the last progress text from the handler
) WITH (fillfactor = 50);
CREATE INDEX queue_due ON pawl.queue (lane_id, run_at, id);
CREATE INDEX queue_expiry ON pawl.queue (expires_at) WHERE expires_at IS NOT NULL;

-- One row per claim: the claimed messages, and when to check them for expired leases. The row is removed with
-- the last of these messages, however that one ends (claims_ended()).
CREATE TABLE pawl.claim (
    fence      bigint      PRIMARY KEY,
    owner      uuid        NOT NULL,
    owner_name text        NOT NULL,
    check_at   timestamptz NOT NULL,
    lease      interval    NOT NULL, -- of messages without a lease of their own
    ids        bigint[]    NOT NULL
);
CREATE INDEX claim_check ON pawl.claim (check_at);
CREATE INDEX claim_owner ON pawl.claim (owner);
CREATE TABLE pawl.outcome (
    id           bigint      PRIMARY KEY,
    finished_at  timestamptz NOT NULL,
    expires_at   timestamptz,                    -- of a failed message that can still expire
    retries      integer     NOT NULL,
    state        smallint    NOT NULL CHECK (state IN (@STATES_FINISHED@)), -- done, failed, expired, cancelled
    processed_by text,
    error        text,
    progress     text,
    output       bytea                           -- the handler's output
);
CREATE INDEX outcome_age ON pawl.outcome (finished_at) WHERE state IN (@STATES_NOT_KEPT@);
CREATE INDEX outcome_dead ON pawl.outcome (id) WHERE state IN (@STATES_DEAD@);
CREATE INDEX outcome_expiry ON pawl.outcome (expires_at) WHERE state = @STATE_FAILED@ AND expires_at IS NOT NULL;

-- Dead letters whose handler has not succeeded yet, on topics that have one. A row is added when the message
-- fails and removed when the handler succeeds or the message is retried or purged.
CREATE TABLE pawl.dead (
    id     bigint      PRIMARY KEY, -- the message's work id
    run_at timestamptz NOT NULL,    -- the next call; during a call, the end of its lease
    fence  bigint      NOT NULL DEFAULT 0,
    owner  uuid        NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    calls  integer     NOT NULL DEFAULT 0,
    error  text                     -- of the last call
);
CREATE INDEX dead_due ON pawl.dead (run_at);

-- Message counts per topic and final state; state 0 counts retried messages. Updating these rows directly would
-- serialize all workers, so a batch adds a delta row and compact_stats() merges the deltas into this table. The
-- current count is the sum of both. prune() removes the counts of a topic that has no lane once they have not
-- changed for the retention period of finished messages.
CREATE TABLE pawl.topic_stats (
    topic      text        NOT NULL,
    state      smallint    NOT NULL,
    n          bigint      NOT NULL,
    changed_at timestamptz NOT NULL,
    PRIMARY KEY (topic, state)
);
CREATE INDEX topic_stats_age ON pawl.topic_stats (changed_at);
CREATE TABLE pawl.topic_stats_delta (
    id      bigint   GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    lane_id bigint,                     -- NULL: the message's lane has been removed
    topic   text,                       -- set if lane_id is NULL; otherwise the lane's
    state   smallint NOT NULL,
    n       bigint   NOT NULL
);

-- The rows of these tables are replaced all the time, so the default autovacuum threshold of 20 % is wrong: it
-- vacuums a nearly empty queue after every few rows, and a full one far too late. There are no cost delays,
-- because claims walk over rows that are not vacuumed yet. There is no truncation, because it takes an
-- exclusive lock on a table that grows again at once.
ALTER TABLE pawl.queue SET (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 2000,
    autovacuum_analyze_scale_factor = 0.1, autovacuum_analyze_threshold = 10000,
    autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false);
ALTER TABLE pawl.claim SET (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false);
ALTER TABLE pawl.lane SET (
    autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false);
ALTER TABLE pawl.lane_use SET (
    autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false);
ALTER TABLE pawl.topic_stats_delta SET (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false);

-- Retention deletes the oldest rows in small batches; 2 % is early enough to reuse the space.
ALTER TABLE pawl.outcome SET (autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE pawl.body SET (autovacuum_vacuum_scale_factor = 0.02);

-- The clock of every function, read once per call. The planner inlines it. It is not pg_catalog.now(), which is
-- the start of the transaction. Both functions are created here and not by every deployment, because a virtual
-- clock (pawl/testing.h) replaces the first and the views need the second.
CREATE FUNCTION pawl.clock() RETURNS timestamptz
LANGUAGE sql VOLATILE AS 'SELECT pg_catalog.clock_timestamp()';

CREATE FUNCTION pawl.now() RETURNS timestamptz
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN pawl.clock();
END
$$;

-- Leases: exclusive, expiring ownership of a named thing. docs/internals/lease.md explains the locks.
--
-- After a lease has ended, its row keeps the last holder until lease_clean() removes it. Renewing changes no
-- key column, so the UPDATE does not wait for FOR KEY SHARE, the lock that lease_guard() takes.
CREATE TABLE pawl.lease (
    name          text COLLATE "C" PRIMARY KEY CHECK (char_length(name) BETWEEN @LEASE_NAME_MIN@ AND @LEASE_NAME_MAX@),
    owner         uuid        NOT NULL,   -- the holder, or the last holder
    owner_name    text        NOT NULL,
    fence         bigint      NOT NULL,   -- drawn when the lease was last acquired
    taken_at      timestamptz NOT NULL,
    renewed_at    timestamptz NOT NULL,
    expires_at    timestamptz NOT NULL,   -- the lease is free from this time on
    released_at   timestamptz,            -- NULL: not released; otherwise equal to expires_at
    forced_at     timestamptz,            -- when it was last taken from its holder by lease_force()
    forced_by     text,
    forced_reason text,
    forced_fence  bigint                  -- the fence of that holder
) WITH (fillfactor = 70);
CREATE INDEX lease_end ON pawl.lease (expires_at);

-- Recovery from a server clock that was ahead and was set back: times written meanwhile are corrected without a
-- command. docs/internals/clock.md says what is moved, when, and what is left unchanged.
--
-- A single row. The passes process the tables in bounded batches; each batch continues where the previous one
-- ended.
CREATE TABLE pawl.clock_watch (
    latest_time timestamptz NOT NULL DEFAULT '-infinity', -- the latest clock reading; written at most every 10 seconds
    seen_id     bigint      NOT NULL DEFAULT 0, -- messages up to this id are ignored when the clock is judged
    back_since  timestamptz,                    -- NULL: the clock is not behind latest_time
    pass        smallint    NOT NULL DEFAULT 0, -- the next or current one; 0: only messages that were due at once
    part        smallint    NOT NULL DEFAULT 0, -- the part of the pass
    after       bigint      NOT NULL DEFAULT 0  -- the last row examined in the part
) WITH (fillfactor = 50);
INSERT INTO pawl.clock_watch DEFAULT VALUES;

-- The inbox: one row per message received from another service, keyed by the sender's name and the id that it
-- chose. docs/internals/inbox.md explains the design.
CREATE TABLE pawl.inbox_record (
    number       bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- in order of arrival
    fence        bigint      NOT NULL DEFAULT 0,       -- of the last attempt
    duplicates   bigint      NOT NULL DEFAULT 0,       -- deliveries that got the cached response
    lease_until  timestamptz NOT NULL DEFAULT 'epoch', -- end of the current attempt's lease
    first_seen   timestamptz NOT NULL,
    last_seen    timestamptz NOT NULL,
    processed_at timestamptz,
    expires_at   timestamptz,                          -- NULL: kept until it is purged
    attempts     integer     NOT NULL DEFAULT 0,
    max_attempts integer     NOT NULL DEFAULT @INBOX_ATTEMPTS_DEFAULT@,
    state        smallint    NOT NULL,                 -- 0 seen, 1 processing, 2 done, 3 dead
    source       text        COLLATE "C" NOT NULL,
    id           text        COLLATE "C" NOT NULL,
    hash         bytea,                                -- SHA-256 over the payload's bytes
    endpoint     text,
    error        text,                                 -- of the last failed attempt
    response     bytea,
    suspect      boolean     NOT NULL DEFAULT false,   -- an attempt that ran beside others did not end
    holder       text,                                 -- who marked it as processing
    CHECK (state BETWEEN @INBOX_SEEN@ AND @INBOX_DEAD@ AND (state = @INBOX_DONE@) = (processed_at IS NOT NULL)
           AND (state = @INBOX_DEAD@) = (expires_at IS NULL))
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX inbox_key ON pawl.inbox_record (source, id);
CREATE INDEX inbox_expiry ON pawl.inbox_record (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX inbox_unfinished ON pawl.inbox_record (number) WHERE state IN (@INBOX_UNFINISHED@);
CREATE INDEX inbox_dead ON pawl.inbox_record (number) WHERE state = @INBOX_DEAD@;
ALTER TABLE pawl.inbox_record SET (autovacuum_vacuum_scale_factor = 0.02);

-- Jobs: a schedule, and the message that it sends each time. docs/internals/job.md explains the design.
--
-- A job can be inserted with SQL; every other column has a default:
--   INSERT INTO pawl.job (name, schedule, topic, payload) VALUES ('report', '0 6 * * *', 'report', '{}');
-- or created with pawl.job_put(). The scheduler, which is part of every worker, then parses the schedule and
-- computes the first occurrence. If it cannot parse it, it sets `problem` and skips the job.
CREATE TABLE pawl.job (
    id             bigint      GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    name           text        COLLATE "C" NOT NULL CHECK (char_length(name) BETWEEN @JOB_NAME_MIN@ AND @JOB_NAME_MAX@),
    schedule       text        NOT NULL CHECK (char_length(schedule) BETWEEN @SCHEDULE_MIN@ AND @SCHEDULE_MAX@),
    zone           text        NOT NULL DEFAULT 'UTC' CHECK (char_length(zone) BETWEEN @SCHEDULE_MIN@ AND @SCHEDULE_MAX@),
    topic          text        NOT NULL CHECK (char_length(topic) BETWEEN @TOPIC_MIN@ AND @TOPIC_MAX@),
    payload        bytea       NOT NULL DEFAULT '' CHECK (octet_length(payload) <= @PAYLOAD_MAX@),
    type           smallint    NOT NULL DEFAULT @TYPE_SIGNAL@ CHECK (type BETWEEN @TYPE_MIN@ AND @TYPE_MAX@),
    destination    text        CHECK (octet_length(destination) BETWEEN @DESTINATION_MIN@ AND @DESTINATION_MAX@),
    headers        json        CHECK (octet_length(headers::text) <= @HEADERS_MAX@ AND jsonb_typeof(headers::jsonb) = 'object'),
    correlation_id text        CHECK (char_length(correlation_id) BETWEEN @CORRELATION_MIN@ AND @CORRELATION_MAX@),
    priority       smallint    NOT NULL DEFAULT 0 CHECK (priority BETWEEN @PRIORITY_MIN@ AND @PRIORITY_MAX@),
    max_attempts   smallint    CHECK (max_attempts BETWEEN @ATTEMPTS_MIN@ AND @ATTEMPTS_MAX@), -- of a run; NULL: 10, or until it expires with a destination
    retry_base     interval    CHECK (date_part('epoch', retry_base) * 1000 BETWEEN @BACKOFF_MIN@ AND @BACKOFF_MAX@),
    retry_max      interval    CHECK (date_part('epoch', retry_max) >= date_part('epoch', retry_base) AND date_part('epoch', retry_max) * 1000 <= @BACKOFF_MAX@),
    retry_jitter   interval    CHECK (date_part('epoch', retry_jitter) * 1000 BETWEEN @JITTER_MIN@ AND @JITTER_MAX@),
    misfire        text        NOT NULL DEFAULT 'once' CHECK (misfire IN ('once', 'all', 'skip')),
    misfire_cap    integer     NOT NULL DEFAULT @MISFIRE_CAP_DEFAULT@ CHECK (misfire_cap BETWEEN @MISFIRE_CAP_MIN@ AND @MISFIRE_CAP_MAX@),
    misfire_grace  interval    NOT NULL DEFAULT interval '@MISFIRE_GRACE_DEFAULT@ milliseconds' CHECK (date_part('epoch', misfire_grace) * 1000 BETWEEN @MISFIRE_GRACE_MIN@ AND @MISFIRE_GRACE_MAX@),
    overlap        text        NOT NULL DEFAULT 'skip' CHECK (overlap IN ('skip', 'allow', 'queue')),
    jitter         interval    NOT NULL DEFAULT interval '0' CHECK (date_part('epoch', jitter) * 1000 BETWEEN @JOB_JITTER_MIN@ AND @JOB_JITTER_MAX@),
    ttl            interval    CHECK (date_part('epoch', ttl) * 1000 BETWEEN @TTL_MIN@ AND @TTL_MAX@),     -- NULL: none, or 24 h with a destination
    timeout        interval    CHECK (date_part('epoch', timeout) * 1000 BETWEEN @LEASE_MIN@ AND @LEASE_MAX@),
    lease          interval    NOT NULL DEFAULT interval '@JOB_LEASE_DEFAULT@ milliseconds' CHECK (date_part('epoch', lease) * 1000 BETWEEN @JOB_LEASE_MIN@ AND @JOB_LEASE_MAX@),
    heartbeat      interval    NOT NULL DEFAULT interval '@JOB_HEARTBEAT_DEFAULT@ milliseconds' CHECK (date_part('epoch', heartbeat) * 1000 BETWEEN @JOB_HEARTBEAT_MIN@ AND @JOB_HEARTBEAT_MAX@),
    keep_runs      integer     NOT NULL DEFAULT @KEEP_RUNS_DEFAULT@ CHECK (keep_runs BETWEEN @KEEP_RUNS_MIN@ AND @KEEP_RUNS_MAX@),
    keep_age       interval    CHECK (date_part('epoch', keep_age) * 1000 BETWEEN @TTL_MIN@ AND @TTL_MAX@),
    enabled        boolean     NOT NULL DEFAULT true,
    -- The scheduler maintains the columns from here on.
    created_at     timestamptz,
    updated_at     timestamptz,
    anchor         timestamptz,                         -- base of an "every D" schedule
    since          timestamptz,                         -- lower bound of the next occurrence, in addition to the last one
    next_occurrence_at   timestamptz,                         -- NULL: not computed yet, or none
    next_due_at    timestamptz,                         -- next_occurrence_at plus jitter
    last_occurrence_at   timestamptz,                         -- outlives the history; decreases only after a clock reset
    planned_at     timestamptz NOT NULL DEFAULT 'epoch',    -- the clock when the columns above were computed
    awaited_run    bigint,                              -- "from start": the run that must be claimed first
    next_check_at        timestamptz NOT NULL DEFAULT 'epoch',    -- when the scheduler examines the job next
    sweep_due_at       timestamptz NOT NULL DEFAULT 'infinity', -- when the history must be checked for retention
    version        bigint      NOT NULL DEFAULT 0,      -- incremented with every change
    problem        text                                 -- why it cannot be scheduled
);
CREATE UNIQUE INDEX job_name ON pawl.job (name);
CREATE INDEX job_next_check ON pawl.job (next_check_at);
CREATE INDEX job_planned ON pawl.job (planned_at);
CREATE INDEX job_sweep ON pawl.job (sweep_due_at);

-- A job's history: its runs, and the occurrences that were skipped. It does not refer to the messages, and
-- outlives them.
CREATE TABLE pawl.job_run (
    id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id       bigint      NOT NULL,
    scheduled_at timestamptz NOT NULL,               -- the occurrence; of a skip the first one
    last_occurrence_at timestamptz NOT NULL,               -- of a skip the last one
    created_at   timestamptz NOT NULL,
    started_at   timestamptz,                        -- the first claim
    claimed_at   timestamptz,
    ended_at     timestamptz,
    work_id      bigint,
    message_id   uuid,
    occurrences        bigint      NOT NULL DEFAULT 1 CHECK (occurrences > 0),
    attempts     integer     NOT NULL DEFAULT 0,
    pending_events         integer     NOT NULL DEFAULT 0,     -- pending events that the scheduler has not read yet
    state        smallint    NOT NULL CHECK (state BETWEEN @STATE_READY@ AND @RUN_SKIPPED@), -- the message's; 6 waiting, 7 skipped
    reason       smallint    NOT NULL DEFAULT 0 CHECK (reason BETWEEN 0 AND 2), -- of a skip: 1 overlap, 2 misfire
    triggered    boolean     NOT NULL DEFAULT false,
    occurrences_more   boolean     NOT NULL DEFAULT false, -- there were more occurrences than were counted
    claimed_by   text,
    error        text,
    output       bytea
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX job_run_occurrence ON pawl.job_run (job_id, scheduled_at) WHERE NOT triggered;
CREATE INDEX job_run_job ON pawl.job_run (job_id, id);
CREATE INDEX job_run_open ON pawl.job_run (job_id, id) WHERE state IN (@RUN_STATES_UNFINISHED@);
-- Finds waiting runs without reading all unfinished ones.
CREATE INDEX job_run_waiting ON pawl.job_run (job_id, id) WHERE state = @RUN_WAITING@;
CREATE INDEX job_run_begun ON pawl.job_run (job_id, started_at) WHERE started_at IS NOT NULL;
CREATE INDEX job_run_pending_events ON pawl.job_run (id) WHERE pending_events > 0;

-- Idle workers, for wake-ups. docs/internals/wake-ups.md explains why no wake-up is lost.
--
-- A worker has a row while it may be idle and listens on the channel "pawl.wake" (one word: the schema's name
-- without quotes, which the text of this file has when it runs). The table is unlogged: after a server crash
-- every worker must reconnect anyway, and becoming idle must not wait for the disk.
CREATE UNLOGGED TABLE pawl.idle_worker (
    id      uuid        PRIMARY KEY,
    seen_at timestamptz NOT NULL        -- older than 90 seconds: the worker is dead, or will poll by itself
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50,
        autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false);

-- The work queue: one immutable body row per message, a small queue row while it is unfinished,
-- an outcome row when it is finished. docs/internals/queue.md explains the design.
--
-- There are no foreign keys between these tables: only the functions (sql/postgres/functions) write them,
-- and each keeps them together in one transaction.

-- Defaults and checks keep the operators that were found when they were made: none of public's.
SET LOCAL search_path = pg_catalog, pg_temp;

-- A role that may not create schemas can still install into one that a DBA made for it.
DO $$
BEGIN
    CREATE SCHEMA pawl;
EXCEPTION
    WHEN duplicate_schema THEN NULL;
    WHEN insufficient_privilege THEN
        IF to_regnamespace(split_part('pawl.x', '.', 1)) IS NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
                MESSAGE = format('the schema %s is not there and may not be created',
                                 split_part('pawl.x', '.', 1)),
                HINT = 'Run as a role with CREATE on the database, or have the schema made for this role.';
        END IF;
END
$$;

CREATE TABLE pawl.meta (
    product         text    NOT NULL CHECK (product = 'pawl'),
    version         integer NOT NULL,   -- of this schema
    compatible_from integer NOT NULL,   -- the oldest library schema number that may use it
    -- Of the functions and views: the release of the library that created them, and a digest of their text.
    code_release    integer NOT NULL DEFAULT 0,
    code_digest     text    NOT NULL DEFAULT '',
    -- Makes advisory locks that no other role can compute.
    lock_secret     bytea   NOT NULL DEFAULT uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
);
INSERT INTO pawl.meta (product, version, compatible_from) VALUES ('pawl', 1, 1);

-- Calls that exclude each other lock one of these rows until the end of their transaction. Not an advisory
-- lock: any user of the database may take those, and keep everyone else out. The rows never change.
CREATE TABLE pawl.mutex (
    name text PRIMARY KEY CHECK (name IN ('lanes', 'topics', 'totals'))
);
INSERT INTO pawl.mutex (name) VALUES ('lanes'), ('topics'), ('totals');

-- The one fencing token counter. CACHE 1: a cached range would hand a later claim a lower token.
CREATE SEQUENCE pawl.fence AS bigint CACHE 1;

-- What was said about a topic, perhaps before its first message; '' is what holds for all topics.
CREATE TABLE pawl.topic (
    name      text        PRIMARY KEY CHECK (char_length(name) <= @TOPIC_MAX@),
    paused_at timestamptz CHECK (name <> '' OR paused_at IS NULL), -- NULL: it is not paused
    dead      boolean     NOT NULL DEFAULT false                   -- dead letters are handled
);
CREATE INDEX topic_dead ON pawl.topic (name) WHERE dead;

-- A lane is a topic at one priority and for one destination: the unit that a claim scans. Only rows of
-- pawl.queue refer to it, and lane_clean() removes it when it has been empty for a while. Topic,
-- priority and destination are deliberately not unique: two open transactions that each use the same
-- new topics first, in crossed order, would deadlock on a unique index. A transaction that sees no
-- lane to use adds one, so a topic may get two lanes of one priority. That is harmless: claim and
-- stats walk all lanes of a topic. The id is never used again: a claim cursor may remember it.
CREATE TABLE pawl.lane (
    id          bigint   GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    topic       text     NOT NULL CHECK (char_length(topic) BETWEEN @TOPIC_MIN@ AND @TOPIC_MAX@),
    priority    smallint NOT NULL CHECK (priority BETWEEN @PRIORITY_MIN@ AND @PRIORITY_MAX@),
    paused      boolean,                    -- what pawl.topic says, in short; NULL: ask topic_paused()
    retiring    boolean  NOT NULL DEFAULT false, -- gets no further messages, and is removed when empty
    destination text     COLLATE "C" NOT NULL DEFAULT '', -- '': for local handlers
    woken       bigint   NOT NULL DEFAULT 0 -- a token drawn by the last wake_destination()
);
CREATE INDEX lane_topic ON pawl.lane (topic, destination, priority, id);
CREATE INDEX lane_order ON pawl.lane (destination, priority, id);
CREATE INDEX lane_pause_unread ON pawl.lane (id) WHERE paused IS NULL;

-- When a lane was last in use, as far as lane_clean() knows: a row for each lane. It is apart from the
-- lane, because claims would walk over the old versions of its row.
CREATE TABLE pawl.lane_use (
    lane_id bigint      PRIMARY KEY,
    used_at timestamptz NOT NULL,
    epoch   bigint                      -- of a lane that is retiring: a transaction id drawn after that
);
CREATE INDEX lane_use_age ON pawl.lane_use (used_at) WHERE epoch IS NULL;
CREATE INDEX lane_use_epoch ON pawl.lane_use (epoch) WHERE epoch IS NOT NULL;

-- The server reads and compiles every CHECK again at each INSERT statement, about four microseconds
-- apiece, so there are few: what keeps a message readable. The functions and the library check the
-- rest.
CREATE TABLE pawl.body (
    id             bigint      GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, -- the work id, never reused
    message_id     uuid        NOT NULL UNIQUE,
    topic          text        NOT NULL,
    priority       smallint    NOT NULL,
    type           smallint    NOT NULL,                  -- 0 signal, 1 command, 2 push_call, 3 response
    max_attempts   smallint    NOT NULL,                  -- 0: until it expires; local ones have a limit
    count_all      boolean,                               -- whether every send is an attempt; NULL: the service's setting
    created_at     timestamptz NOT NULL,
    due_at         timestamptz NOT NULL,                  -- as asked for, also when in the past
    delayed        boolean,                               -- a delay was asked for; NULL: a time, or nothing
    expires_at     timestamptz,
    lease          interval,                              -- this message's own lease
    retry_base     interval,                              -- its own backoff policy
    retry_max      interval,
    retry_jitter   interval,
    timeout        interval,                              -- of one attempt
    heartbeat      interval,                              -- how often the worker renews it
    run_id         bigint,                                -- the job's run that it is
    destination    text,
    correlation_id text,
    headers        json        CHECK (json_typeof(headers) = 'object'),
    payload        bytea       NOT NULL,
    CHECK (type BETWEEN @TYPE_MIN@ AND @TYPE_MAX@ AND max_attempts BETWEEN @REMOTE_ATTEMPTS_MIN@ AND @REMOTE_ATTEMPTS_MAX@
           AND (max_attempts > 0 OR (destination IS NOT NULL AND count_all IS NOT TRUE))
           AND char_length(correlation_id) BETWEEN @CORRELATION_MIN@ AND @CORRELATION_MAX@)
);

-- Unfinished messages only. owner, lease_until and fence have placeholders while nobody holds it;
-- being outside every index and of fixed size, a claim changes them in place (a HOT update on a
-- page that fillfactor keeps half empty) and writes no index entry.
CREATE TABLE pawl.queue (
    id          bigint      PRIMARY KEY,
    fence       bigint      NOT NULL DEFAULT 0,
    run_at      timestamptz NOT NULL,           -- claimable from here on
    lease_until timestamptz NOT NULL DEFAULT 'epoch',
    owner       uuid        NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    lane_id     bigint      NOT NULL,
    retries     integer     NOT NULL DEFAULT 0, -- attempts that ended without success
    deferrals   integer     NOT NULL DEFAULT 0, -- sends that ended without one and were not counted
    expires_at  timestamptz,
    lease       interval,                       -- copied from the body, so that a claim needs no join
    run_id      bigint,                         -- the same: history follows such rows (functions/job.sql)
    stamped_at  timestamptz,                    -- the clock when run_at was set; NULL: created_at
    last_error  text,
    progress    text                            -- what its handler said last
) WITH (fillfactor = 50);
CREATE INDEX queue_due ON pawl.queue (lane_id, run_at, id);
CREATE INDEX queue_expiry ON pawl.queue (expires_at) WHERE expires_at IS NOT NULL;

-- One row per claim: what it took, and when to look whether a lease in it has run out. It goes with the
-- last of these messages, whatever ends that (claims_ended()).
CREATE TABLE pawl.claim (
    fence      bigint      PRIMARY KEY,
    owner      uuid        NOT NULL,
    owner_name text        NOT NULL,
    check_at   timestamptz NOT NULL,
    lease      interval    NOT NULL, -- of the messages that have none of their own
    ids        bigint[]    NOT NULL
);
CREATE INDEX claim_check ON pawl.claim (check_at);
CREATE INDEX claim_owner ON pawl.claim (owner);
CREATE TABLE pawl.outcome (
    id           bigint      PRIMARY KEY,
    finished_at  timestamptz NOT NULL,
    expires_at   timestamptz,                    -- of a failed message that may still expire
    retries      integer     NOT NULL,
    state        smallint    NOT NULL CHECK (state IN (@STATES_FINISHED@)), -- done, failed, expired, cancelled
    processed_by text,
    error        text,
    progress     text,
    output       bytea                           -- what its handler left
);
CREATE INDEX outcome_age ON pawl.outcome (finished_at) WHERE state IN (@STATES_NOT_KEPT@);
CREATE INDEX outcome_dead ON pawl.outcome (id) WHERE state IN (@STATES_DEAD@);
CREATE INDEX outcome_expiry ON pawl.outcome (expires_at) WHERE state = @STATE_FAILED@ AND expires_at IS NOT NULL;

-- Dead letters whose handler has still to be called, if one is wanted: made with the message's end,
-- removed when the handler was successful, or the message was retried_by_user or purged.
CREATE TABLE pawl.dead (
    id     bigint      PRIMARY KEY, -- the message's
    run_at timestamptz NOT NULL,    -- the next call; while somebody is at it, the end of the lease
    fence  bigint      NOT NULL DEFAULT 0,
    owner  uuid        NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    calls  integer     NOT NULL DEFAULT 0,
    error  text                     -- of the last call
);
CREATE INDEX dead_due ON pawl.dead (run_at);

-- How many messages of a topic ended in a state; state 0 counts the retried_by_user ones. Updating these
-- rows would make every worker wait for every other, so a batch adds a delta row and compact_stats() moves
-- the deltas here. The truth is the sum of both. prune() forgets the counts of a topic that has no
-- lane and whose counts did not change for as long as finished messages are kept.
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
    lane_id bigint,                     -- NULL: of a message that has none any more
    topic   text,                       -- then this; NULL: the lane's
    state   smallint NOT NULL,
    n       bigint   NOT NULL
);

-- These tables turn over completely all the time, so "20 % of the table" (the default) is the wrong
-- measure: a nearly empty queue would be vacuumed for every few rows, a full one far too late.
-- No pauses while vacuuming, because claims walk over what is not vacuumed yet; no truncation,
-- because that takes an exclusive lock on a table that grows again at once.
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

-- Retention deletes from the old end in small bites; 2 % is soon enough to reuse the space.
ALTER TABLE pawl.outcome SET (autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE pawl.body SET (autovacuum_vacuum_scale_factor = 0.02);

-- The clock of every function, read once per call. Inlined, so it costs nothing. Never now():
-- that is the time the transaction began. These two are here, and not among the functions that a deployment
-- creates again, because a virtual clock replaces the first (pawl/testing.h) and the views need the second.
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
-- The row stays when the lease has ended, with who had it last, until lease_clean(). Renewing changes no
-- column of the key: an UPDATE of it does not wait for FOR KEY SHARE, which is what the guard takes.
CREATE TABLE pawl.lease (
    name          text COLLATE "C" PRIMARY KEY CHECK (char_length(name) BETWEEN @LEASE_NAME_MIN@ AND @LEASE_NAME_MAX@),
    owner         uuid        NOT NULL,   -- the holder, or the last one
    owner_name    text        NOT NULL,
    fence         bigint      NOT NULL,   -- drawn by the last take
    taken_at      timestamptz NOT NULL,
    renewed_at    timestamptz NOT NULL,
    expires_at    timestamptz NOT NULL,   -- nobody's from here on
    released_at   timestamptz,            -- NULL: it was not given back; then expires_at is the same
    forced_at     timestamptz,            -- the last time that it was taken away from its holder
    forced_by     text,
    forced_reason text,
    forced_fence  bigint                  -- from whom
) WITH (fillfactor = 70);
CREATE INDEX lease_end ON pawl.lease (expires_at);

-- When the server's clock was ahead and was set back: what was written meanwhile comes in its time, without
-- a command. docs/internals/clock.md says what is moved, when, and what is left as it is.
--
-- One row. The passes go over the tables in bounded batches, each from where the one before ended.
CREATE TABLE pawl.clock_watch (
    latest_time timestamptz NOT NULL DEFAULT '-infinity', -- that was seen; written at most every 10 seconds
    seen_id     bigint      NOT NULL DEFAULT 0, -- messages up to this one say nothing about the clock any more
    back_since  timestamptz,                    -- NULL: the clock is not below latest_time
    pass        smallint    NOT NULL DEFAULT 0, -- the next, or the one under way; 0: only what was due at once
    part        smallint    NOT NULL DEFAULT 0, -- of the pass
    after       bigint      NOT NULL DEFAULT 0  -- in the part: the last row that was examined
) WITH (fillfactor = 50);
INSERT INTO pawl.clock_watch DEFAULT VALUES;

-- The inbox: one row per message that others sent here, under the sender's name and the id it gave.
-- docs/internals/inbox.md explains the design.
CREATE TABLE pawl.inbox_record (
    number       bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- in the order of arrival
    fence        bigint      NOT NULL DEFAULT 0,       -- of the last attempt
    duplicates   bigint      NOT NULL DEFAULT 0,       -- deliveries that got the cached response
    lease_until  timestamptz NOT NULL DEFAULT 'epoch', -- while an attempt is being made
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
    error        text,                                 -- of the last attempt that failed
    response     bytea,
    suspect      boolean     NOT NULL DEFAULT false,   -- an attempt beside others did not end
    holder       text,                                 -- who marked it as being processed
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
-- A job can be seeded by hand; everything else has a default:
--   INSERT INTO pawl.job (name, schedule, topic, payload) VALUES ('report', '0 6 * * *', 'report', '{}');
-- or with pawl.job_put(). The scheduler, which is in every worker, looks at it, reads the schedule and
-- computes the first slot. If it cannot be read, `problem` says why, and the job is passed over.
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
    -- From here on the scheduler's.
    created_at     timestamptz,
    updated_at     timestamptz,
    anchor         timestamptz,                         -- "every D" counts from here
    since          timestamptz,                         -- the next slot is after this, and after the last
    next_occurrence_at   timestamptz,                         -- NULL: to be computed, or there is none
    next_due_at    timestamptz,                         -- the same with jitter
    last_occurrence_at   timestamptz,                         -- outlives the history; less only when the clock was set back
    planned_at     timestamptz NOT NULL DEFAULT 'epoch',    -- the clock when the rest of these was computed
    awaited_run    bigint,                              -- "from start": the run that has to be claimed first
    look_at        timestamptz NOT NULL DEFAULT 'epoch',    -- when the scheduler has to look
    sweep_due_at       timestamptz NOT NULL DEFAULT 'infinity', -- when its history has to be looked at
    version        bigint      NOT NULL DEFAULT 0,      -- grows with every change
    problem        text                                 -- why it cannot be scheduled
);
CREATE UNIQUE INDEX job_name ON pawl.job (name);
CREATE INDEX job_look ON pawl.job (look_at);
CREATE INDEX job_planned ON pawl.job (planned_at);
CREATE INDEX job_sweep ON pawl.job (sweep_due_at);

-- A job's history: runs, and slots that were skipped. Self-contained: it outlives the messages.
CREATE TABLE pawl.job_run (
    id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id       bigint      NOT NULL,
    scheduled_at timestamptz NOT NULL,               -- the slot; of a skip the first
    last_occurrence_at timestamptz NOT NULL,               -- of a skip the last
    created_at   timestamptz NOT NULL,
    started_at   timestamptz,                        -- claimed for the first time
    claimed_at   timestamptz,
    ended_at     timestamptz,
    work_id      bigint,
    message_id   uuid,
    slots        bigint      NOT NULL DEFAULT 1 CHECK (slots > 0),
    attempts     integer     NOT NULL DEFAULT 0,
    news         integer     NOT NULL DEFAULT 0,     -- the scheduler has to look at the job because of it
    state        smallint    NOT NULL CHECK (state BETWEEN @STATE_READY@ AND @RUN_SKIPPED@), -- the message's; 6 waiting, 7 skipped
    reason       smallint    NOT NULL DEFAULT 0 CHECK (reason BETWEEN 0 AND 2), -- of a skip: 1 overlap, 2 misfire
    triggered    boolean     NOT NULL DEFAULT false,
    occurrences_more   boolean     NOT NULL DEFAULT false, -- it was counted no further
    claimed_by   text,
    error        text,
    output       bytea
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX job_run_occurrence ON pawl.job_run (job_id, scheduled_at) WHERE NOT triggered;
CREATE INDEX job_run_job ON pawl.job_run (job_id, id);
CREATE INDEX job_run_open ON pawl.job_run (job_id, id) WHERE state IN (@RUN_STATES_UNFINISHED@);
-- Whether somebody waits in line must not cost a look at all that have not ended.
CREATE INDEX job_run_waiting ON pawl.job_run (job_id, id) WHERE state = @RUN_WAITING@;
CREATE INDEX job_run_begun ON pawl.job_run (job_id, started_at) WHERE started_at IS NOT NULL;
CREATE INDEX job_run_pending_events ON pawl.job_run (id) WHERE news > 0;

-- Workers that sleep, and waking them. docs/internals/wake-ups.md says why none is missed.
--
-- A row while its worker may be asleep and listens on the channel "pawl.wake" (one word: the schema's
-- name, without the quotes that it has in the text of this file when it is run). Unlogged: after a
-- crash of the server everybody has to connect again anyway, and going to sleep waits for no disk.
CREATE UNLOGGED TABLE pawl.idle_worker (
    id      uuid        PRIMARY KEY,
    seen_at timestamptz NOT NULL        -- older than 90 seconds: it is dead, or will look by itself
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50,
        autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false);

-- The work queue: one immutable body row per message, a small queue row while it is unfinished,
-- an outcome row when it is finished. docs/internals/queue.md explains the design.
--
-- Times are microseconds since 1970 UTC. There are no foreign keys between these tables. Only the statements in
-- this directory write them, and each keeps them consistent in one transaction.
--
-- Three conventions of those statements: "OR FAIL" replaces the default "OR ABORT", because the library rolls
-- back the whole operation anyway and SQLite then needs no statement journal. "changes() = 1" in a WHERE means
-- "only if the previous statement changed its row". INDEXED BY and CROSS JOIN fix the one good plan, even if
-- ANALYZE ran while the tables were almost empty.

CREATE TABLE pawl_meta (
    id              INTEGER PRIMARY KEY CHECK (id = 1), -- a single row
    product         TEXT    NOT NULL CHECK (product = 'pawl'),
    version         INTEGER NOT NULL,               -- of this schema
    compatible_from INTEGER NOT NULL,               -- the oldest schema number of a library that may use this schema
    -- The library release that created the views and triggers, and a digest of their text.
    code_release    INTEGER NOT NULL DEFAULT 0,
    code_digest     TEXT    NOT NULL DEFAULT '',
    fence           INTEGER NOT NULL DEFAULT 0,     -- the last fencing token; only increases
    fence_mark      INTEGER NOT NULL DEFAULT 0,     -- the highest token that may be issued before this is raised
    -- The clock (docs/internals/clock.md): the highest time written, a lower bound of every reading; and its
    -- offset from the machine's boot clock at that time, which keeps time moving while the wall clock is
    -- behind.
    latest_time     INTEGER NOT NULL DEFAULT 0,
    boot_id         TEXT    NOT NULL DEFAULT '',    -- identifies the boot clock
    boot_offset     INTEGER NOT NULL DEFAULT 0,
    clock_resets    INTEGER NOT NULL DEFAULT 0      -- by `pawl migrate --reset-clock`
) STRICT;
INSERT INTO pawl_meta (id, product, version, compatible_from) VALUES (1, 'pawl', 1, 1);

-- The machine's clock. (julianday has millisecond resolution; newer functions need a newer SQLite.) This view
-- and the next are created here and not by every deployment, because a virtual clock (pawl/testing.h) replaces
-- them.
CREATE VIEW pawl_wall AS
    SELECT CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 AS now;

-- The boot clock. SQL cannot read it, so the library fills in the NULLs.
CREATE VIEW pawl_boot AS SELECT NULL AS now, NULL AS id;

-- Settings per topic. A row may exist before the topic's first message; '' is the row for all topics.
CREATE TABLE pawl_topic (
    name      TEXT    PRIMARY KEY CHECK (length(name) <= @TOPIC_MAX@),
    paused_at INTEGER CHECK (name <> '' OR paused_at IS NULL),       -- NULL: not paused
    dead      INTEGER NOT NULL DEFAULT 0 CHECK (dead IN (0, 1))      -- dead letters are recorded for a handler
) STRICT, WITHOUT ROWID;

-- A lane is one topic at one priority and for one destination. It is the unit that a claim scans. Only rows of
-- pawl_queue refer to it, and compact_stats removes it after it has been empty for a while.
CREATE TABLE pawl_lane (
    id          INTEGER PRIMARY KEY,
    topic       TEXT    NOT NULL CHECK (length(topic) BETWEEN @TOPIC_MIN@ AND @TOPIC_MAX@),
    priority    INTEGER NOT NULL CHECK (priority BETWEEN @PRIORITY_MIN@ AND @PRIORITY_MAX@),
    destination TEXT    NOT NULL DEFAULT '',        -- '': for local handlers
    woken       INTEGER NOT NULL DEFAULT 0          -- the token drawn by the last `pawl wake`
) STRICT;
CREATE UNIQUE INDEX pawl_lane_name ON pawl_lane (topic, priority, destination);
CREATE INDEX pawl_lane_destination ON pawl_lane (destination) WHERE destination > '';

-- The changing part of a lane, in its own row: a claim or an ack adds its counts with one upsert.
CREATE TABLE pawl_lane_stats (
    lane_id   INTEGER PRIMARY KEY,
    priority  INTEGER NOT NULL,             -- the lane's
    destination TEXT  NOT NULL DEFAULT '',  -- the lane's
    last_claim_fence INTEGER NOT NULL DEFAULT 0,   -- the fence of the last claim that took messages
    used_at   INTEGER NOT NULL DEFAULT 0,   -- when that claim was
    running   INTEGER NOT NULL DEFAULT 0,   -- messages claimed now
    done      INTEGER NOT NULL DEFAULT 0,   -- from here on totals since the lane was added
    failed    INTEGER NOT NULL DEFAULT 0,
    expired   INTEGER NOT NULL DEFAULT 0,
    cancelled INTEGER NOT NULL DEFAULT 0,
    retried_by_user  INTEGER NOT NULL DEFAULT 0,
    paused    INTEGER NOT NULL DEFAULT 0,   -- cached from pawl_topic
    dead      INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The order in which claims scan the lanes. Paused lanes and other destinations are not in the scanned range.
CREATE INDEX pawl_lane_stats_order ON pawl_lane_stats (paused, destination, priority DESC, last_claim_fence);

-- The counts of a topic's removed lanes. prune removes them when the topic has no lane and they have not
-- changed for the retention period of finished messages.
CREATE TABLE pawl_topic_stats (
    topic      TEXT    PRIMARY KEY,
    done       INTEGER NOT NULL DEFAULT 0,
    failed     INTEGER NOT NULL DEFAULT 0,
    expired    INTEGER NOT NULL DEFAULT 0,
    cancelled  INTEGER NOT NULL DEFAULT 0,
    retried_by_user   INTEGER NOT NULL DEFAULT 0,
    changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX pawl_topic_stats_age ON pawl_topic_stats (changed_at);

CREATE TABLE pawl_body (
    id             INTEGER PRIMARY KEY AUTOINCREMENT, -- the work id, never reused
    message_id     BLOB    NOT NULL CHECK (length(message_id) = 16),
    topic          TEXT    NOT NULL,
    priority       INTEGER NOT NULL,
    type           INTEGER NOT NULL CHECK (type BETWEEN @TYPE_MIN@ AND @TYPE_MAX@), -- signal, command, push_call, response
    created_at     INTEGER NOT NULL,
    due_at         INTEGER NOT NULL,                  -- as requested, even if in the past
    expires_at     INTEGER,
    -- 0: until it expires (remote messages only).
    max_attempts   INTEGER NOT NULL CHECK (max_attempts BETWEEN @REMOTE_ATTEMPTS_MIN@ AND @REMOTE_ATTEMPTS_MAX@
                                           AND (max_attempts > 0 OR (destination IS NOT NULL AND count_all IS NOT 1))),
    count_all      INTEGER CHECK (count_all IN (0, 1)), -- whether every send is an attempt; NULL: the service's setting
    lease          INTEGER CHECK (lease BETWEEN @LEASE_MIN@000 AND @LEASE_MAX@000),         -- overrides the worker's lease
    retry_base     INTEGER CHECK (retry_base BETWEEN @BACKOFF_MIN@000 AND @BACKOFF_MAX@000),    -- overrides the worker's backoff policy
    retry_max      INTEGER CHECK (retry_max BETWEEN retry_base AND @BACKOFF_MAX@000),
    retry_jitter   INTEGER CHECK (retry_jitter BETWEEN 0 AND @JITTER_MAX@000),
    timeout        INTEGER CHECK (timeout BETWEEN @LEASE_MIN@000 AND @LEASE_MAX@000),       -- of one attempt
    heartbeat      INTEGER CHECK (heartbeat BETWEEN @LEASE_MIN@000 AND @LEASE_MAX@000),     -- how often the worker renews the lease
    run_id         INTEGER,                           -- the job run that this message belongs to
    destination    TEXT    CHECK (length(CAST(destination AS BLOB)) BETWEEN @DESTINATION_MIN@ AND @DESTINATION_MAX@),
    headers        TEXT    CHECK (headers IS NULL OR json_type(headers) = 'object'),
    correlation_id TEXT    CHECK (length(correlation_id) BETWEEN @CORRELATION_MIN@ AND @CORRELATION_MAX@),
    payload        BLOB    NOT NULL                   -- last, so that no other column is read past it
) STRICT;
CREATE UNIQUE INDEX pawl_body_message ON pawl_body (message_id);

-- Unfinished messages only. owner, lease_until and fence are 0 while the message is not claimed. The indexes
-- have only unclaimed rows, so a claim or expiry never walks over running messages.
CREATE TABLE pawl_queue (
    id          INTEGER PRIMARY KEY,
    lane_id     INTEGER NOT NULL,
    run_at      INTEGER NOT NULL,           -- earliest time of the next claim
    retries     INTEGER NOT NULL DEFAULT 0, -- failed attempts
    deferrals   INTEGER NOT NULL DEFAULT 0, -- failed sends that did not count as attempts
    owner       BLOB    NOT NULL DEFAULT x'00000000000000000000000000000000',
    lease_until INTEGER NOT NULL DEFAULT 0,
    fence       INTEGER NOT NULL DEFAULT 0,
    expires_at  INTEGER,
    lease       INTEGER,                    -- copied from the body, so that a claim needs no join
    run_id      INTEGER,                    -- copied, too; the triggers of sql/sqlite/triggers/job.sql follow such rows
    last_error  TEXT,
    progress    TEXT                        -- the last progress text from the handler
) STRICT;
CREATE INDEX pawl_queue_due ON pawl_queue (lane_id, run_at) WHERE fence = 0;
CREATE INDEX pawl_queue_expiry ON pawl_queue (expires_at) WHERE fence = 0 AND expires_at IS NOT NULL;

-- One row per claim: the claimed messages, and when to check them for expired leases. The row is removed with
-- the last of these messages, however that one ends (part claim_ended). last_id is stored before the ids so
-- that it can be read without them: a long list is on overflow pages.
CREATE TABLE pawl_claim (
    fence      INTEGER PRIMARY KEY,
    owner      BLOB    NOT NULL,
    owner_name TEXT    NOT NULL,
    check_at   INTEGER NOT NULL,
    has_job_runs INTEGER NOT NULL DEFAULT 0, -- whether the claim has job runs whose history is not updated yet
    last_id    INTEGER NOT NULL DEFAULT 0, -- the highest of them, usually the last to end
    ids        TEXT    NOT NULL            -- a JSON array of work ids
) STRICT;
CREATE INDEX pawl_claim_check ON pawl_claim (check_at);
CREATE INDEX pawl_claim_owner ON pawl_claim (owner);

CREATE TABLE pawl_outcome (
    id           INTEGER PRIMARY KEY,
    state        INTEGER NOT NULL CHECK (state BETWEEN @STATE_DONE@ AND @STATE_CANCELLED@), -- done, failed, expired, cancelled
    finished_at  INTEGER NOT NULL,
    retries      INTEGER NOT NULL,
    processed_by TEXT,
    error        TEXT,
    progress     TEXT,
    expires_at   INTEGER,                   -- of a failed message that can still expire
    output       BLOB                       -- the handler's output
) STRICT;
CREATE INDEX pawl_outcome_age ON pawl_outcome (finished_at) WHERE state IN (@STATES_NOT_KEPT@);
CREATE INDEX pawl_outcome_dead ON pawl_outcome (id) WHERE state >= @STATE_FAILED@;
CREATE INDEX pawl_outcome_expiry ON pawl_outcome (expires_at) WHERE state = @STATE_FAILED@ AND expires_at IS NOT NULL;

-- Dead letters whose handler has not succeeded yet, on topics that have one. A row is added when the message
-- fails and removed when the handler succeeds or the message is retried or purged.
CREATE TABLE pawl_dead (
    id     INTEGER PRIMARY KEY,             -- the message's work id
    run_at INTEGER NOT NULL,                -- the next call; during a call, the end of its lease
    calls  INTEGER NOT NULL DEFAULT 0,
    owner  BLOB    NOT NULL DEFAULT x'00000000000000000000000000000000',
    fence  INTEGER NOT NULL DEFAULT 0,
    error  TEXT                             -- of the last call
) STRICT;
CREATE INDEX pawl_dead_due ON pawl_dead (run_at);

-- Leases: exclusive, expiring ownership of a named thing. After a lease has ended, its row keeps the last
-- holder until lease_clean removes it. docs/internals/lease.md
CREATE TABLE pawl_lease (
    name          TEXT    PRIMARY KEY CHECK (length(name) BETWEEN @LEASE_NAME_MIN@ AND @LEASE_NAME_MAX@),
    owner         BLOB    NOT NULL,         -- the holder, or the last holder
    owner_name    TEXT    NOT NULL,
    fence         INTEGER NOT NULL,         -- drawn when the lease was last acquired
    taken_at      INTEGER NOT NULL,
    renewed_at    INTEGER NOT NULL,
    expires_at    INTEGER NOT NULL,         -- the lease is free from this time on
    released_at   INTEGER,                  -- NULL: not released; otherwise equal to expires_at
    forced_at     INTEGER,                  -- when it was last taken from its holder by lease_force
    forced_by     TEXT,
    forced_reason TEXT,
    forced_fence  INTEGER                   -- the fence of that holder
) STRICT, WITHOUT ROWID;
CREATE INDEX pawl_lease_end ON pawl_lease (expires_at);

-- The inbox: one row per message received from another service, keyed by the sender's name and the id that it
-- chose. docs/internals/inbox.md explains the design.

CREATE TABLE pawl_inbox_record (
    number       INTEGER PRIMARY KEY AUTOINCREMENT,      -- in order of arrival, for paging
    source       TEXT    NOT NULL CHECK (length(source) BETWEEN @INBOX_KEY_MIN@ AND @INBOX_KEY_MAX@),
    id           TEXT    NOT NULL CHECK (length(id) BETWEEN @INBOX_KEY_MIN@ AND @INBOX_KEY_MAX@),
    state        INTEGER NOT NULL CHECK (state BETWEEN @INBOX_SEEN@ AND @INBOX_DEAD@), -- seen, processing, done, dead
    attempts     INTEGER NOT NULL DEFAULT 0,
    max_attempts INTEGER NOT NULL DEFAULT @INBOX_ATTEMPTS_DEFAULT@,
    duplicates   INTEGER NOT NULL DEFAULT 0,             -- deliveries that got the cached response
    fence        INTEGER NOT NULL DEFAULT 0,             -- of the last attempt
    lease_until  INTEGER NOT NULL DEFAULT 0,             -- end of the current attempt's lease
    suspect      INTEGER NOT NULL DEFAULT 0 CHECK (suspect IN (0, 1)), -- an attempt that ran beside others did not end
    holder       TEXT,                                   -- who marked it as processing
    first_seen   INTEGER NOT NULL,
    last_seen    INTEGER NOT NULL,
    processed_at INTEGER,
    expires_at   INTEGER,                                -- NULL: kept until it is purged
    hash         BLOB    CHECK (length(hash) = 32),      -- SHA-256 over the payload's bytes
    endpoint     TEXT,
    error        TEXT,                                   -- of the last failed attempt
    response     BLOB,                                   -- last, so that no other column is read past it
    CHECK ((state = @INBOX_DONE@) = (processed_at IS NOT NULL)),
    CHECK ((state = @INBOX_DEAD@) = (expires_at IS NULL))
) STRICT;
CREATE UNIQUE INDEX pawl_inbox_key ON pawl_inbox_record (source, id);
CREATE INDEX pawl_inbox_expiry ON pawl_inbox_record (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX pawl_inbox_unfinished ON pawl_inbox_record (number) WHERE state < @INBOX_DONE@;
CREATE INDEX pawl_inbox_dead ON pawl_inbox_record (number) WHERE state = @INBOX_DEAD@;

-- Jobs: a schedule, and the message that it sends each time. docs/internals/job.md explains the design.
--
-- A job can be inserted with SQL; every other column has a default:
--   INSERT INTO pawl_job (name, schedule, topic, payload) VALUES ('report', '0 6 * * *', 'report', '{}');
-- The scheduler then parses the schedule and computes the first occurrence. If it cannot parse it, it sets
-- `problem` and skips the job.

CREATE TABLE pawl_job (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    name           TEXT    NOT NULL CHECK (length(name) BETWEEN @JOB_NAME_MIN@ AND @JOB_NAME_MAX@),
    schedule       TEXT    NOT NULL CHECK (length(schedule) BETWEEN @SCHEDULE_MIN@ AND @SCHEDULE_MAX@),
    zone           TEXT    NOT NULL DEFAULT 'UTC' CHECK (length(zone) BETWEEN @SCHEDULE_MIN@ AND @SCHEDULE_MAX@),
    topic          TEXT    NOT NULL CHECK (length(topic) BETWEEN @TOPIC_MIN@ AND @TOPIC_MAX@),
    payload        ANY     NOT NULL DEFAULT x'' CHECK (length(CAST(payload AS BLOB)) <= @PAYLOAD_MAX@), -- text is sent as its bytes
    type           INTEGER NOT NULL DEFAULT @TYPE_SIGNAL@ CHECK (type BETWEEN @TYPE_MIN@ AND @TYPE_MAX@),
    destination    TEXT    CHECK (length(CAST(destination AS BLOB)) BETWEEN @DESTINATION_MIN@ AND @DESTINATION_MAX@),
    headers        TEXT    CHECK (headers IS NULL OR (length(CAST(headers AS BLOB)) <= @HEADERS_MAX@ AND json_type(headers) = 'object')
                          -- PostgreSQL cannot store this character
                          AND instr(replace(headers, '\\', ''), '\u0000') = 0),
    correlation_id TEXT    CHECK (length(correlation_id) BETWEEN @CORRELATION_MIN@ AND @CORRELATION_MAX@),
    priority       INTEGER NOT NULL DEFAULT 0 CHECK (priority BETWEEN @PRIORITY_MIN@ AND @PRIORITY_MAX@),
    max_attempts   INTEGER CHECK (max_attempts BETWEEN @ATTEMPTS_MIN@ AND @ATTEMPTS_MAX@), -- of a run; NULL: 10, or until it expires with a destination
    retry_base     INTEGER CHECK (retry_base BETWEEN @BACKOFF_MIN@000 AND @BACKOFF_MAX@000),
    retry_max      INTEGER CHECK (retry_max BETWEEN retry_base AND @BACKOFF_MAX@000),
    retry_jitter   INTEGER CHECK (retry_jitter BETWEEN 0 AND @JITTER_MAX@000),
    misfire        TEXT    NOT NULL DEFAULT 'once' CHECK (misfire IN ('once', 'all', 'skip')),
    misfire_cap    INTEGER NOT NULL DEFAULT @MISFIRE_CAP_DEFAULT@ CHECK (misfire_cap BETWEEN @MISFIRE_CAP_MIN@ AND @MISFIRE_CAP_MAX@),
    misfire_grace  INTEGER NOT NULL DEFAULT @MISFIRE_GRACE_DEFAULT@000 CHECK (misfire_grace BETWEEN 0 AND @MISFIRE_GRACE_MAX@000),
    overlap        TEXT    NOT NULL DEFAULT 'skip' CHECK (overlap IN ('skip', 'allow', 'queue')),
    jitter         INTEGER NOT NULL DEFAULT 0 CHECK (jitter BETWEEN 0 AND @JOB_JITTER_MAX@000),
    ttl            INTEGER CHECK (ttl BETWEEN @TTL_MIN@000 AND @TTL_MAX@000),          -- NULL: none, or 24 h with a destination
    timeout        INTEGER CHECK (timeout BETWEEN @LEASE_MIN@000 AND @LEASE_MAX@000),
    lease          INTEGER NOT NULL DEFAULT @JOB_LEASE_DEFAULT@000 CHECK (lease BETWEEN @JOB_LEASE_MIN@000 AND @JOB_LEASE_MAX@000),
    heartbeat      INTEGER NOT NULL DEFAULT @JOB_HEARTBEAT_DEFAULT@000 CHECK (heartbeat BETWEEN @JOB_HEARTBEAT_MIN@000 AND @JOB_HEARTBEAT_MAX@000),
    keep_runs      INTEGER NOT NULL DEFAULT @KEEP_RUNS_DEFAULT@ CHECK (keep_runs BETWEEN @KEEP_RUNS_MIN@ AND @KEEP_RUNS_MAX@),
    keep_age       INTEGER CHECK (keep_age BETWEEN @TTL_MIN@000 AND @TTL_MAX@000),
    enabled        INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    -- The scheduler maintains the columns from here on.
    created_at     INTEGER,
    updated_at     INTEGER,
    anchor         INTEGER,                          -- base of an "every D" schedule
    since          INTEGER,                          -- lower bound of the next occurrence, in addition to the last one
    next_occurrence_at   INTEGER,                          -- NULL: not computed yet, or none
    next_due_at    INTEGER,                          -- next_occurrence_at plus jitter
    last_occurrence_at   INTEGER,                          -- outlives the history; decreases only after a clock reset
    planned_at     INTEGER NOT NULL DEFAULT 0,       -- the clock when the columns above were computed
    awaited_run    INTEGER,                          -- "from start": the run that must be claimed first
    next_check_at        INTEGER NOT NULL DEFAULT 0,       -- when the scheduler examines the job next: 0 now, the highest number never
    sweep_due_at       INTEGER NOT NULL DEFAULT 9223372036854775807, -- when the history must be checked for retention
    version        INTEGER NOT NULL DEFAULT 0,       -- incremented with every change
    tick           INTEGER NOT NULL DEFAULT 0,       -- the transaction that made the last change, while it runs
    problem        TEXT                              -- why it cannot be scheduled
) STRICT;
CREATE UNIQUE INDEX pawl_job_name ON pawl_job (name);
CREATE INDEX pawl_job_next_check ON pawl_job (next_check_at);
CREATE INDEX pawl_job_planned ON pawl_job (planned_at);
CREATE INDEX pawl_job_sweep ON pawl_job (sweep_due_at) WHERE sweep_due_at < 9223372036854775807;

-- A job's history: its runs, and the occurrences that were skipped. It does not refer to the messages, and
-- outlives them.
CREATE TABLE pawl_job_run (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id       INTEGER NOT NULL,
    triggered    INTEGER NOT NULL DEFAULT 0 CHECK (triggered IN (0, 1)),
    state        INTEGER NOT NULL CHECK (state BETWEEN @STATE_READY@ AND @RUN_SKIPPED@), -- the message's; 6 waiting, 7 skipped
    reason       INTEGER NOT NULL DEFAULT 0 CHECK (reason BETWEEN 0 AND 2), -- of a skip: 1 overlap, 2 misfire
    scheduled_at INTEGER NOT NULL,                   -- the occurrence; of a skip the first one
    last_occurrence_at INTEGER NOT NULL,                   -- of a skip the last one
    occurrences        INTEGER NOT NULL DEFAULT 1 CHECK (occurrences > 0),
    occurrences_more   INTEGER NOT NULL DEFAULT 0 CHECK (occurrences_more IN (0, 1)), -- there were more occurrences than were counted
    work_id      INTEGER,
    message_id   BLOB,
    created_at   INTEGER NOT NULL,
    started_at   INTEGER,                            -- the first claim
    claimed_at   INTEGER,
    claimed_by   TEXT,
    ended_at     INTEGER,
    attempts     INTEGER NOT NULL DEFAULT 0,
    error        TEXT,
    pending_events         INTEGER NOT NULL DEFAULT 0,         -- pending events that the scheduler has not read yet
    output       BLOB
) STRICT;
CREATE UNIQUE INDEX pawl_job_run_occurrence ON pawl_job_run (job_id, scheduled_at) WHERE triggered = 0;
CREATE INDEX pawl_job_run_job ON pawl_job_run (job_id, id);
CREATE INDEX pawl_job_run_open ON pawl_job_run (job_id, id) WHERE state IN (@RUN_STATES_UNFINISHED@);

-- Finds waiting runs without reading all unfinished ones.
CREATE INDEX pawl_job_run_waiting ON pawl_job_run (job_id, id) WHERE state = @RUN_WAITING@;
CREATE INDEX pawl_job_run_begun ON pawl_job_run (job_id, started_at) WHERE started_at IS NOT NULL;
CREATE INDEX pawl_job_run_pending_events ON pawl_job_run (id) WHERE pending_events > 0;

-- The work queue: one immutable body row per message, a small queue row while it is unfinished,
-- an outcome row when it is finished. docs/internals/queue.md explains the design.
--
-- Times are microseconds since 1970 UTC. There are no foreign keys between these tables: only the
-- statements beside this file write them, and each keeps them together in one transaction.
--
-- Three habits of those statements. "OR FAIL" instead of the default "OR ABORT": the library undoes
-- the whole operation anyway, and SQLite can do without a journal for the single statement.
-- "changes() = 1" in a WHERE: only if the statement before it changed its row. INDEXED BY and CROSS
-- JOIN: there is one right plan, also when ANALYZE ran while the tables were all but empty.

CREATE TABLE pawl_meta (
    id              INTEGER PRIMARY KEY CHECK (id = 1), -- one row
    product         TEXT    NOT NULL CHECK (product = 'pawl'),
    version         INTEGER NOT NULL,               -- of this schema
    compatible_from INTEGER NOT NULL,               -- the oldest library schema number that may use it
    -- Of the views and triggers: the release of the library that created them, and a digest of their text.
    code_release    INTEGER NOT NULL DEFAULT 0,
    code_digest     TEXT    NOT NULL DEFAULT '',
    fence           INTEGER NOT NULL DEFAULT 0,     -- the last fencing token; only ever grows
    fence_mark      INTEGER NOT NULL DEFAULT 0,     -- the last one that may be given out before this grows
    -- The clock (docs/internals/clock.md): the highest time written, never less is answered; and what the
    -- clock was ahead of the machine's boot clock then, by which time goes on while the wall clock is behind.
    latest_time     INTEGER NOT NULL DEFAULT 0,
    boot_id         TEXT    NOT NULL DEFAULT '',    -- of which boot clock
    boot_offset     INTEGER NOT NULL DEFAULT 0,
    clock_resets    INTEGER NOT NULL DEFAULT 0      -- by `pawl migrate --reset-clock`
) STRICT;
INSERT INTO pawl_meta (id, product, version, compatible_from) VALUES (1, 'pawl', 1, 1);

-- The machine's clock. (julianday has milliseconds; newer functions need a newer SQLite.) This and the next
-- are here, and not among the views that a deployment creates again, because a virtual clock replaces them
-- (pawl/testing.h).
CREATE VIEW pawl_wall AS
    SELECT CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 AS now;

-- The boot clock, which SQL cannot read: the library fills in what is NULL.
CREATE VIEW pawl_boot AS SELECT NULL AS now, NULL AS id;

-- What was said about a topic, perhaps before its first message; '' is what holds for all topics.
CREATE TABLE pawl_topic (
    name      TEXT    PRIMARY KEY CHECK (length(name) <= @TOPIC_MAX@),
    paused_at INTEGER CHECK (name <> '' OR paused_at IS NULL),       -- NULL: it is not paused
    dead      INTEGER NOT NULL DEFAULT 0 CHECK (dead IN (0, 1))      -- dead letters are handled
) STRICT, WITHOUT ROWID;

-- A lane is a topic at one priority and for one destination: the unit that a claim scans. Only rows of
-- pawl_queue refer to it, and fold removes it when it has been empty for a while.
CREATE TABLE pawl_lane (
    id          INTEGER PRIMARY KEY,
    topic       TEXT    NOT NULL CHECK (length(topic) BETWEEN @TOPIC_MIN@ AND @TOPIC_MAX@),
    priority    INTEGER NOT NULL CHECK (priority BETWEEN @PRIORITY_MIN@ AND @PRIORITY_MAX@),
    destination TEXT    NOT NULL DEFAULT '',        -- '': for local handlers
    woken       INTEGER NOT NULL DEFAULT 0          -- a token drawn by the last `pawl wake`
) STRICT;
CREATE UNIQUE INDEX pawl_lane_name ON pawl_lane (topic, priority, destination);
CREATE INDEX pawl_lane_destination ON pawl_lane (destination) WHERE destination > '';

-- What changes of a lane, in a row of its own: a claim or an ack adds its numbers with one upsert.
CREATE TABLE pawl_lane_stats (
    lane_id   INTEGER PRIMARY KEY,
    priority  INTEGER NOT NULL,             -- the lane's
    destination TEXT  NOT NULL DEFAULT '',  -- the lane's
    turn      INTEGER NOT NULL DEFAULT 0,   -- the last claim that took something
    used_at   INTEGER NOT NULL DEFAULT 0,   -- and when that was
    held      INTEGER NOT NULL DEFAULT 0,   -- messages in progress now
    done      INTEGER NOT NULL DEFAULT 0,   -- from here on totals since the lane was added
    failed    INTEGER NOT NULL DEFAULT 0,
    expired   INTEGER NOT NULL DEFAULT 0,
    cancelled INTEGER NOT NULL DEFAULT 0,
    retried_by_user  INTEGER NOT NULL DEFAULT 0,
    paused    INTEGER NOT NULL DEFAULT 0,   -- what pawl_topic says of the lane's topic, in short
    dead      INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The order in which claims look. They never come across a lane that is paused, or of a destination
-- that they did not ask for.
CREATE INDEX pawl_lane_stats_turn ON pawl_lane_stats (paused, destination, priority DESC, turn);

-- The totals of a topic's lanes that were removed. retain forgets them when the topic has no lane and
-- they did not change for as long as finished messages are kept.
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
    due_at         INTEGER NOT NULL,                  -- as asked for, also when in the past
    expires_at     INTEGER,
    -- 0: until it expires; local ones have a limit.
    max_attempts   INTEGER NOT NULL CHECK (max_attempts BETWEEN @REMOTE_ATTEMPTS_MIN@ AND @REMOTE_ATTEMPTS_MAX@
                                           AND (max_attempts > 0 OR (destination IS NOT NULL AND count_all IS NOT 1))),
    count_all      INTEGER CHECK (count_all IN (0, 1)), -- whether every send is an attempt; NULL: the service's setting
    lease          INTEGER CHECK (lease BETWEEN @LEASE_MIN@000 AND @LEASE_MAX@000),         -- this message's own lease
    retry_base     INTEGER CHECK (retry_base BETWEEN @BACKOFF_MIN@000 AND @BACKOFF_MAX@000),    -- its own backoff policy
    retry_max      INTEGER CHECK (retry_max BETWEEN retry_base AND @BACKOFF_MAX@000),
    retry_jitter   INTEGER CHECK (retry_jitter BETWEEN 0 AND @JITTER_MAX@000),
    timeout        INTEGER CHECK (timeout BETWEEN @LEASE_MIN@000 AND @LEASE_MAX@000),       -- of one attempt
    heartbeat      INTEGER CHECK (heartbeat BETWEEN @LEASE_MIN@000 AND @LEASE_MAX@000),     -- how often the worker renews it
    run_id         INTEGER,                           -- the job's run that it is
    destination    TEXT    CHECK (length(CAST(destination AS BLOB)) BETWEEN @DESTINATION_MIN@ AND @DESTINATION_MAX@),
    headers        TEXT    CHECK (headers IS NULL OR json_type(headers) = 'object'),
    correlation_id TEXT    CHECK (length(correlation_id) BETWEEN @CORRELATION_MIN@ AND @CORRELATION_MAX@),
    payload        BLOB    NOT NULL                   -- last: nothing else has to be read past it
) STRICT;
CREATE UNIQUE INDEX pawl_body_message ON pawl_body (message_id);

-- Unfinished messages only. owner, lease_until and fence are 0 while nobody holds it. Only rows
-- that nobody holds are in the indexes: a claim or an expiry never walks over what is in progress.
CREATE TABLE pawl_queue (
    id          INTEGER PRIMARY KEY,
    lane_id     INTEGER NOT NULL,
    run_at      INTEGER NOT NULL,           -- claimable from here on
    retries     INTEGER NOT NULL DEFAULT 0, -- attempts that ended without success
    deferrals   INTEGER NOT NULL DEFAULT 0, -- sends that ended without one and were not counted
    owner       BLOB    NOT NULL DEFAULT x'00000000000000000000000000000000',
    lease_until INTEGER NOT NULL DEFAULT 0,
    fence       INTEGER NOT NULL DEFAULT 0,
    expires_at  INTEGER,
    lease       INTEGER,                    -- copied from the body, so that a claim needs no join
    run_id      INTEGER,                    -- the same: history follows such rows (sql/sqlite/triggers/job.sql)
    last_error  TEXT,
    progress    TEXT                        -- what its handler said last
) STRICT;
CREATE INDEX pawl_queue_due ON pawl_queue (lane_id, run_at) WHERE fence = 0;
CREATE INDEX pawl_queue_expiry ON pawl_queue (expires_at) WHERE fence = 0 AND expires_at IS NOT NULL;

-- One row per claim: what it took, and when to look whether a lease in it has run out. It goes with the
-- last of these messages, whatever ends that (the part claim_ended). last_id stands before the ids, so
-- that it can be read without them: a long list is on pages of its own.
CREATE TABLE pawl_claim (
    fence      INTEGER PRIMARY KEY,
    owner      BLOB    NOT NULL,
    owner_name TEXT    NOT NULL,
    check_at   INTEGER NOT NULL,
    runs       INTEGER NOT NULL DEFAULT 0, -- whether runs of jobs are among them, until that is written down
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
    expires_at   INTEGER,                   -- of a failed message that may still expire
    output       BLOB                       -- what its handler left
) STRICT;
CREATE INDEX pawl_outcome_age ON pawl_outcome (finished_at) WHERE state IN (@STATES_NOT_KEPT@);
CREATE INDEX pawl_outcome_dead ON pawl_outcome (id) WHERE state >= @STATE_FAILED@;
CREATE INDEX pawl_outcome_expiry ON pawl_outcome (expires_at) WHERE state = @STATE_FAILED@ AND expires_at IS NOT NULL;

-- Dead letters whose handler has still to be called, if one is wanted: made with the message's end,
-- removed when the handler was successful, or the message was retried_by_user or purged.
CREATE TABLE pawl_dead (
    id     INTEGER PRIMARY KEY,             -- the message's
    run_at INTEGER NOT NULL,                -- the next call; while somebody is at it, the end of the lease
    calls  INTEGER NOT NULL DEFAULT 0,
    owner  BLOB    NOT NULL DEFAULT x'00000000000000000000000000000000',
    fence  INTEGER NOT NULL DEFAULT 0,
    error  TEXT                             -- of the last call
) STRICT;
CREATE INDEX pawl_dead_due ON pawl_dead (run_at);

-- Leases: exclusive, expiring ownership of a named thing. The row stays when the lease has ended, with
-- who had it last, until lease_clean. docs/internals/lease.md
CREATE TABLE pawl_lease (
    name          TEXT    PRIMARY KEY CHECK (length(name) BETWEEN @LEASE_NAME_MIN@ AND @LEASE_NAME_MAX@),
    owner         BLOB    NOT NULL,         -- the holder, or the last one
    owner_name    TEXT    NOT NULL,
    fence         INTEGER NOT NULL,         -- drawn by the last take
    taken_at      INTEGER NOT NULL,
    renewed_at    INTEGER NOT NULL,
    expires_at    INTEGER NOT NULL,         -- nobody's from here on
    released_at   INTEGER,                  -- NULL: it was not given back; then expires_at is the same
    forced_at     INTEGER,                  -- the last time that it was taken away from its holder
    forced_by     TEXT,
    forced_reason TEXT,
    forced_fence  INTEGER                   -- from whom
) STRICT, WITHOUT ROWID;
CREATE INDEX pawl_lease_end ON pawl_lease (expires_at);

-- The inbox: one row per message that others sent here, under the sender's name and the id it gave.
-- docs/internals/inbox.md explains the design.

CREATE TABLE pawl_inbox_record (
    number       INTEGER PRIMARY KEY AUTOINCREMENT,      -- in the order of arrival: pages of a list
    source       TEXT    NOT NULL CHECK (length(source) BETWEEN @INBOX_KEY_MIN@ AND @INBOX_KEY_MAX@),
    id           TEXT    NOT NULL CHECK (length(id) BETWEEN @INBOX_KEY_MIN@ AND @INBOX_KEY_MAX@),
    state        INTEGER NOT NULL CHECK (state BETWEEN @INBOX_SEEN@ AND @INBOX_DEAD@), -- seen, processing, done, dead
    attempts     INTEGER NOT NULL DEFAULT 0,
    max_attempts INTEGER NOT NULL DEFAULT @INBOX_ATTEMPTS_DEFAULT@,
    duplicates   INTEGER NOT NULL DEFAULT 0,             -- deliveries that got the cached response
    fence        INTEGER NOT NULL DEFAULT 0,             -- of the last attempt
    lease_until  INTEGER NOT NULL DEFAULT 0,             -- while an attempt is being made
    suspect      INTEGER NOT NULL DEFAULT 0 CHECK (suspect IN (0, 1)), -- an attempt beside others did not end
    holder       TEXT,                                   -- who marked it as being processed
    first_seen   INTEGER NOT NULL,
    last_seen    INTEGER NOT NULL,
    processed_at INTEGER,
    expires_at   INTEGER,                                -- NULL: kept until it is purged
    hash         BLOB    CHECK (length(hash) = 32),      -- SHA-256 over the payload's bytes
    endpoint     TEXT,
    error        TEXT,                                   -- of the last attempt that failed
    response     BLOB,                                   -- last: nothing else has to be read past it
    CHECK ((state = @INBOX_DONE@) = (processed_at IS NOT NULL)),
    CHECK ((state = @INBOX_DEAD@) = (expires_at IS NULL))
) STRICT;
CREATE UNIQUE INDEX pawl_inbox_key ON pawl_inbox_record (source, id);
CREATE INDEX pawl_inbox_expiry ON pawl_inbox_record (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX pawl_inbox_unfinished ON pawl_inbox_record (number) WHERE state < @INBOX_DONE@;
CREATE INDEX pawl_inbox_dead ON pawl_inbox_record (number) WHERE state = @INBOX_DEAD@;

-- Jobs: a schedule, and the message that it sends each time. docs/internals/job.md explains the design.
--
-- A job can be seeded by hand; everything else has a default:
--   INSERT INTO pawl_job (name, schedule, topic, payload) VALUES ('report', '0 6 * * *', 'report', '{}');
-- The scheduler looks at it, reads the schedule and computes the first slot. If it cannot be read,
-- `problem` says why, and the job is passed over.

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
    -- From here on the scheduler's.
    created_at     INTEGER,
    updated_at     INTEGER,
    anchor         INTEGER,                          -- "every D" counts from here
    since          INTEGER,                          -- the next slot is after this, and after the last
    next_occurrence_at   INTEGER,                          -- NULL: to be computed, or there is none
    next_due_at    INTEGER,                          -- the same with jitter
    last_occurrence_at   INTEGER,                          -- outlives the history; less only when the clock was set back
    planned_at     INTEGER NOT NULL DEFAULT 0,       -- the clock when the rest of these was computed
    awaited_run    INTEGER,                          -- "from start": the run that has to be claimed first
    look_at        INTEGER NOT NULL DEFAULT 0,       -- when the scheduler has to look: 0 now, the highest number never
    sweep_due_at       INTEGER NOT NULL DEFAULT 9223372036854775807, -- when its history has to be looked at
    version        INTEGER NOT NULL DEFAULT 0,       -- grows with every change
    tick           INTEGER NOT NULL DEFAULT 0,       -- who made the last one, while its transaction runs
    problem        TEXT                              -- why it cannot be scheduled
) STRICT;
CREATE UNIQUE INDEX pawl_job_name ON pawl_job (name);
CREATE INDEX pawl_job_look ON pawl_job (look_at);
CREATE INDEX pawl_job_planned ON pawl_job (planned_at);
CREATE INDEX pawl_job_sweep ON pawl_job (sweep_due_at) WHERE sweep_due_at < 9223372036854775807;

-- A job's history: runs, and slots that were skipped. Self-contained: it outlives the messages.
CREATE TABLE pawl_job_run (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id       INTEGER NOT NULL,
    triggered    INTEGER NOT NULL DEFAULT 0 CHECK (triggered IN (0, 1)),
    state        INTEGER NOT NULL CHECK (state BETWEEN @STATE_READY@ AND @RUN_SKIPPED@), -- the message's; 6 waiting, 7 skipped
    reason       INTEGER NOT NULL DEFAULT 0 CHECK (reason BETWEEN 0 AND 2), -- of a skip: 1 overlap, 2 misfire
    scheduled_at INTEGER NOT NULL,                   -- the slot; of a skip the first
    last_occurrence_at INTEGER NOT NULL,                   -- of a skip the last
    slots        INTEGER NOT NULL DEFAULT 1 CHECK (slots > 0),
    occurrences_more   INTEGER NOT NULL DEFAULT 0 CHECK (occurrences_more IN (0, 1)), -- it was counted no further
    work_id      INTEGER,
    message_id   BLOB,
    created_at   INTEGER NOT NULL,
    started_at   INTEGER,                            -- claimed for the first time
    claimed_at   INTEGER,
    claimed_by   TEXT,
    ended_at     INTEGER,
    attempts     INTEGER NOT NULL DEFAULT 0,
    error        TEXT,
    news         INTEGER NOT NULL DEFAULT 0,         -- the scheduler has to look at the job because of it
    output       BLOB
) STRICT;
CREATE UNIQUE INDEX pawl_job_run_occurrence ON pawl_job_run (job_id, scheduled_at) WHERE triggered = 0;
CREATE INDEX pawl_job_run_job ON pawl_job_run (job_id, id);
CREATE INDEX pawl_job_run_open ON pawl_job_run (job_id, id) WHERE state IN (@RUN_STATES_UNFINISHED@);

-- Whether somebody waits in line must not cost a look at all that have not ended.
CREATE INDEX pawl_job_run_waiting ON pawl_job_run (job_id, id) WHERE state = @RUN_WAITING@;
CREATE INDEX pawl_job_run_begun ON pawl_job_run (job_id, started_at) WHERE started_at IS NOT NULL;
CREATE INDEX pawl_job_run_pending_events ON pawl_job_run (id) WHERE news > 0;

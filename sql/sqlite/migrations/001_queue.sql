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

-- The machine's clock. (julianday has milliseconds; newer functions need a newer SQLite.)
CREATE VIEW pawl_wall AS
    SELECT CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 AS now;

-- The boot clock, which SQL cannot read: the library fills in what is NULL.
CREATE VIEW pawl_boot AS SELECT NULL AS now, NULL AS id;

-- What was said about a topic, perhaps before its first message; '' is what holds for all topics.
CREATE TABLE pawl_topic (
    name      TEXT    PRIMARY KEY CHECK (length(name) <= @TOPIC_MOST@),
    paused_at INTEGER CHECK (name <> '' OR paused_at IS NULL),       -- NULL: it is not paused
    dead      INTEGER NOT NULL DEFAULT 0 CHECK (dead IN (0, 1))      -- dead letters are handled
) STRICT, WITHOUT ROWID;

-- A lane is a topic at one priority and for one destination: the unit that a claim scans. Only rows of
-- pawl_queue refer to it, and fold removes it when it has been empty for a while.
CREATE TABLE pawl_lane (
    id          INTEGER PRIMARY KEY,
    topic       TEXT    NOT NULL CHECK (length(topic) BETWEEN @TOPIC_LEAST@ AND @TOPIC_MOST@),
    priority    INTEGER NOT NULL CHECK (priority BETWEEN @PRIORITY_LEAST@ AND @PRIORITY_MOST@),
    destination TEXT    NOT NULL DEFAULT '',        -- '': for local handlers
    woken       INTEGER NOT NULL DEFAULT 0          -- a token drawn by the last `pawl wake`
) STRICT;
CREATE UNIQUE INDEX pawl_lane_name ON pawl_lane (topic, priority, destination);
CREATE INDEX pawl_lane_destination ON pawl_lane (destination) WHERE destination > '';

-- What changes of a lane, in a row of its own: a claim or an ack adds its numbers with one upsert.
CREATE TABLE pawl_tally (
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
    redriven  INTEGER NOT NULL DEFAULT 0,
    paused    INTEGER NOT NULL DEFAULT 0,   -- what pawl_topic says of the lane's topic, in short
    dead      INTEGER NOT NULL DEFAULT 0
) STRICT;
-- The order in which claims look. They never come across a lane that is paused, or of a destination
-- that they did not ask for.
CREATE INDEX pawl_tally_turn ON pawl_tally (paused, destination, priority DESC, turn);
CREATE TRIGGER pawl_lane_tally AFTER INSERT ON pawl_lane
BEGIN
    INSERT INTO pawl_tally (lane_id, priority, destination, paused, dead)
    VALUES (new.id, new.priority, new.destination,
            EXISTS (SELECT 1 FROM pawl_topic WHERE name = new.topic AND paused_at IS NOT NULL),
            EXISTS (SELECT 1 FROM pawl_topic WHERE name IN ('', new.topic) AND dead));
END;

-- The totals of a topic's lanes that were removed. retain forgets them when the topic has no lane and
-- they did not change for as long as finished messages are kept.
CREATE TABLE pawl_total (
    topic      TEXT    PRIMARY KEY,
    done       INTEGER NOT NULL DEFAULT 0,
    failed     INTEGER NOT NULL DEFAULT 0,
    expired    INTEGER NOT NULL DEFAULT 0,
    cancelled  INTEGER NOT NULL DEFAULT 0,
    redriven   INTEGER NOT NULL DEFAULT 0,
    changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX pawl_total_age ON pawl_total (changed_at);

CREATE TABLE pawl_body (
    id             INTEGER PRIMARY KEY AUTOINCREMENT, -- the work id, never reused
    message_id     BLOB    NOT NULL CHECK (length(message_id) = 16),
    topic          TEXT    NOT NULL,
    priority       INTEGER NOT NULL,
    type           INTEGER NOT NULL CHECK (type BETWEEN @TYPE_LEAST@ AND @TYPE_MOST@), -- signal, command, push_call, response
    created_at     INTEGER NOT NULL,
    due_at         INTEGER NOT NULL,                  -- as asked for, also when in the past
    expires_at     INTEGER,
    -- 0: until it expires; local ones have a limit.
    max_attempts   INTEGER NOT NULL CHECK (max_attempts BETWEEN @REMOTE_ATTEMPTS_LEAST@ AND @REMOTE_ATTEMPTS_MOST@
                                           AND (max_attempts > 0 OR (destination IS NOT NULL AND count_all IS NOT 1))),
    count_all      INTEGER CHECK (count_all IN (0, 1)), -- whether every send is an attempt; NULL: the service's setting
    lease          INTEGER CHECK (lease BETWEEN @LEASE_LEAST@000 AND @LEASE_MOST@000),         -- this message's own lease
    retry_base     INTEGER CHECK (retry_base BETWEEN @BACKOFF_LEAST@000 AND @BACKOFF_MOST@000),    -- its own backoff policy
    retry_max      INTEGER CHECK (retry_max BETWEEN retry_base AND @BACKOFF_MOST@000),
    retry_jitter   INTEGER CHECK (retry_jitter BETWEEN 0 AND @JITTER_MOST@000),
    timeout        INTEGER CHECK (timeout BETWEEN @LEASE_LEAST@000 AND @LEASE_MOST@000),       -- of one attempt
    heartbeat      INTEGER CHECK (heartbeat BETWEEN @LEASE_LEAST@000 AND @LEASE_MOST@000),     -- how often the worker renews it
    run_id         INTEGER,                           -- the job's run that it is
    destination    TEXT    CHECK (length(CAST(destination AS BLOB)) BETWEEN @DESTINATION_LEAST@ AND @DESTINATION_MOST@),
    headers        TEXT    CHECK (headers IS NULL OR json_type(headers) = 'object'),
    correlation_id TEXT    CHECK (length(correlation_id) BETWEEN @CORRELATION_LEAST@ AND @CORRELATION_MOST@),
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
    run_id      INTEGER,                    -- the same: history follows such rows (001_s_jobs.sql)
    last_error  TEXT,
    progress    TEXT                        -- what its handler said last
) STRICT;
CREATE INDEX pawl_queue_due ON pawl_queue (lane_id, run_at) WHERE fence = 0;
CREATE INDEX pawl_queue_expiry ON pawl_queue (expires_at) WHERE fence = 0 AND expires_at IS NOT NULL;

-- One row per claim: what it took, and when to look whether a lease in it has run out. It goes with the
-- last of these messages, whatever ends that (parts/claim_ended.sql). last_id stands before the ids, so
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

-- What is in progress, claim by claim. The order of the joins is fixed: the claims decide.
CREATE VIEW pawl_held AS
    SELECT c.fence, c.owner_name, c.check_at, j.key AS place, q.id, q.lane_id, q.retries, q.owner,
           q.lease_until, q.expires_at
    FROM pawl_claim c
    CROSS JOIN json_each(c.ids) j
    CROSS JOIN pawl_queue q ON q.id = j.value AND q.fence = c.fence;

CREATE TABLE pawl_outcome (
    id           INTEGER PRIMARY KEY,
    state        INTEGER NOT NULL CHECK (state BETWEEN 2 AND 5), -- done, failed, expired, cancelled
    finished_at  INTEGER NOT NULL,
    retries      INTEGER NOT NULL,
    processed_by TEXT,
    error        TEXT,
    progress     TEXT,
    expires_at   INTEGER,                   -- of a failed message that may still expire
    output       BLOB                       -- what its handler left
) STRICT;
CREATE INDEX pawl_outcome_age ON pawl_outcome (finished_at) WHERE state IN (2, 5);
CREATE INDEX pawl_outcome_dead ON pawl_outcome (id) WHERE state >= 3;
CREATE INDEX pawl_outcome_expiry ON pawl_outcome (expires_at) WHERE state = 3 AND expires_at IS NOT NULL;

-- Dead letters whose handler has still to be called, if one is wanted: made with the message's end,
-- removed when the handler was successful, or the message was redriven or purged.
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
    name          TEXT    PRIMARY KEY CHECK (length(name) BETWEEN @LEASE_NAME_LEAST@ AND @LEASE_NAME_MOST@),
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

-- The clock every statement uses: never less than a time that was already written down. The library adds
-- what the boot clock says, from the other columns (src/db/sqlite/clock_sqlite.c).
CREATE VIEW pawl_clock AS
    SELECT max(w.now, t.latest_time,
               coalesce((SELECT created_at FROM pawl_body WHERE id = (SELECT max(id) FROM pawl_body)), 0)) AS now,
           w.now AS wall, k.now AS boot, k.id AS boot_id, t.boot_id AS known_boot_id, t.boot_offset,
           t.clock_resets
    FROM pawl_meta t CROSS JOIN pawl_wall w CROSS JOIN pawl_boot k
    WHERE t.id = 1;

-- Every message with everything known of it. Column order is the library's (src/core/message.c).
CREATE VIEW pawl_message AS
    SELECT b.id, b.message_id, b.topic, b.payload, b.type, b.destination, b.headers,
           b.correlation_id, b.priority, b.created_at, b.due_at,
           coalesce(q.expires_at, o.expires_at, b.expires_at) AS expires_at,
           b.max_attempts,
           coalesce(q.retries, o.retries) AS retries,
           -- What is past its time to live reads as expired, also before maintenance has moved it.
           CASE WHEN q.fence <> 0 THEN 1
                WHEN q.expires_at <= (SELECT now FROM pawl_clock) THEN 4
                WHEN o.state = 3 AND o.expires_at <= (SELECT now FROM pawl_clock) THEN 4
                ELSE coalesce(o.state, 0) END AS state,
           coalesce(q.fence, 0) AS fence,
           CASE WHEN q.fence <> 0 THEN q.owner END AS owner,
           c.owner_name AS claimed_by,
           CASE WHEN q.fence <> 0 THEN q.lease_until END AS lease_until,
           q.run_at AS next_attempt_at,
           o.finished_at, o.processed_by,
           coalesce(o.error, q.last_error) AS last_error,
           coalesce(o.progress, q.progress) AS progress,
           b.timeout, b.heartbeat, b.run_id, o.output, coalesce(q.deferrals, 0) AS deferrals,
           b.retry_base, b.retry_max, b.retry_jitter, b.count_all
    FROM pawl_body b
    LEFT JOIN pawl_queue q ON q.id = b.id
    LEFT JOIN pawl_outcome o ON o.id = b.id
    LEFT JOIN pawl_claim c ON c.fence = q.fence;

-- The outbox as its users know it.
CREATE VIEW pawl_outbox AS
    SELECT id, topic, payload, created_at, state AS status, lease_until AS locked_until,
           owner AS owner_token, state = 2 AS is_processed, finished_at AS processed_at,
           processed_by, retries AS retry_count, last_error, next_attempt_at, message_id,
           correlation_id, due_at AS due_time_utc, destination, type, headers, priority, expires_at
    FROM pawl_message;

-- A timer is a message that was sent for a time: for later, or for one that has passed, so due at once.
CREATE VIEW pawl_timer AS
    SELECT id, message_id, topic, payload, created_at, due_at AS due_time, state AS status,
           lease_until AS locked_until, owner AS owner_token, claimed_by, retries AS retry_count,
           last_error, finished_at AS processed_at, processed_by, correlation_id, destination,
           headers, priority
    FROM pawl_message
    WHERE due_at > created_at OR (due_at < created_at AND run_id IS NULL);

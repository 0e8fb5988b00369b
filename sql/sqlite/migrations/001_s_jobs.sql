-- Jobs: a schedule, and the message that it sends each time. docs/internals/job.md explains the design.
--
-- A job can be seeded by hand; everything else has a default:
--   INSERT INTO pawl_job (name, schedule, topic, payload) VALUES ('report', '0 6 * * *', 'report', '{}');
-- The scheduler looks at it, reads the schedule and computes the first slot. If it cannot be read,
-- `problem` says why, and the job is passed over.

CREATE TABLE pawl_job (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    name           TEXT    NOT NULL CHECK (length(name) BETWEEN @JOB_NAME_LEAST@ AND @JOB_NAME_MOST@),
    schedule       TEXT    NOT NULL CHECK (length(schedule) BETWEEN @SCHEDULE_LEAST@ AND @SCHEDULE_MOST@),
    zone           TEXT    NOT NULL DEFAULT 'UTC' CHECK (length(zone) BETWEEN @SCHEDULE_LEAST@ AND @SCHEDULE_MOST@),
    topic          TEXT    NOT NULL CHECK (length(topic) BETWEEN @TOPIC_LEAST@ AND @TOPIC_MOST@),
    payload        ANY     NOT NULL DEFAULT x'' CHECK (length(CAST(payload AS BLOB)) <= @PAYLOAD_MOST@), -- text is sent as its bytes
    type           INTEGER NOT NULL DEFAULT 0 CHECK (type BETWEEN @TYPE_LEAST@ AND @TYPE_MOST@),
    destination    TEXT    CHECK (length(CAST(destination AS BLOB)) BETWEEN @DESTINATION_LEAST@ AND @DESTINATION_MOST@),
    headers        TEXT    CHECK (headers IS NULL OR (length(CAST(headers AS BLOB)) <= @HEADERS_MOST@ AND json_type(headers) = 'object')
                          -- PostgreSQL cannot store this character
                          AND instr(replace(headers, '\\', ''), '\u0000') = 0),
    correlation_id TEXT    CHECK (length(correlation_id) BETWEEN @CORRELATION_LEAST@ AND @CORRELATION_MOST@),
    priority       INTEGER NOT NULL DEFAULT 0 CHECK (priority BETWEEN @PRIORITY_LEAST@ AND @PRIORITY_MOST@),
    max_attempts   INTEGER CHECK (max_attempts BETWEEN @ATTEMPTS_LEAST@ AND @ATTEMPTS_MOST@), -- of a run; NULL: 10, or until it expires with a destination
    retry_base     INTEGER CHECK (retry_base BETWEEN @BACKOFF_LEAST@000 AND @BACKOFF_MOST@000),
    retry_max      INTEGER CHECK (retry_max BETWEEN retry_base AND @BACKOFF_MOST@000),
    retry_jitter   INTEGER CHECK (retry_jitter BETWEEN 0 AND @JITTER_MOST@000),
    misfire        TEXT    NOT NULL DEFAULT 'once' CHECK (misfire IN ('once', 'all', 'skip')),
    misfire_cap    INTEGER NOT NULL DEFAULT 100 CHECK (misfire_cap BETWEEN @MISFIRE_CAP_LEAST@ AND @MISFIRE_CAP_MOST@),
    misfire_grace  INTEGER NOT NULL DEFAULT 60000000 CHECK (misfire_grace BETWEEN 0 AND @MISFIRE_GRACE_MOST@000),
    overlap        TEXT    NOT NULL DEFAULT 'skip' CHECK (overlap IN ('skip', 'allow', 'queue')),
    jitter         INTEGER NOT NULL DEFAULT 0 CHECK (jitter BETWEEN 0 AND @JOB_JITTER_MOST@000),
    ttl            INTEGER CHECK (ttl BETWEEN @TTL_LEAST@000 AND @TTL_MOST@000),          -- NULL: none, or 24 h with a destination
    timeout        INTEGER CHECK (timeout BETWEEN @LEASE_LEAST@000 AND @LEASE_MOST@000),
    lease          INTEGER NOT NULL DEFAULT 120000000 CHECK (lease BETWEEN @JOB_LEASE_LEAST@000 AND @JOB_LEASE_MOST@000),
    heartbeat      INTEGER NOT NULL DEFAULT 30000000 CHECK (heartbeat BETWEEN @JOB_HEARTBEAT_LEAST@000 AND @JOB_HEARTBEAT_MOST@000),
    keep_runs      INTEGER NOT NULL DEFAULT 100 CHECK (keep_runs BETWEEN @KEEP_RUNS_LEAST@ AND @KEEP_RUNS_MOST@),
    keep_age       INTEGER CHECK (keep_age BETWEEN @TTL_LEAST@000 AND @TTL_MOST@000),
    enabled        INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    -- From here on the scheduler's.
    created_at     INTEGER,
    updated_at     INTEGER,
    anchor         INTEGER,                          -- "every D" counts from here
    since          INTEGER,                          -- the next slot is after this, and after the last
    next_slot_at   INTEGER,                          -- NULL: to be computed, or there is none
    next_due_at    INTEGER,                          -- the same with jitter
    last_slot_at   INTEGER,                          -- outlives the history; less only when the clock was set back
    planned_at     INTEGER NOT NULL DEFAULT 0,       -- the clock when the rest of these was computed
    awaited_run    INTEGER,                          -- "from start": the run that has to be claimed first
    look_at        INTEGER NOT NULL DEFAULT 0,       -- when the scheduler has to look: 0 now, the highest number never
    sweep_at       INTEGER NOT NULL DEFAULT 9223372036854775807, -- when its history has to be looked at
    version        INTEGER NOT NULL DEFAULT 0,       -- grows with every change
    tick           INTEGER NOT NULL DEFAULT 0,       -- who made the last one, while its transaction runs
    problem        TEXT                              -- why it cannot be scheduled
) STRICT;
CREATE UNIQUE INDEX pawl_job_name ON pawl_job (name);
CREATE INDEX pawl_job_look ON pawl_job (look_at);
CREATE INDEX pawl_job_planned ON pawl_job (planned_at);
CREATE INDEX pawl_job_sweep ON pawl_job (sweep_at) WHERE sweep_at < 9223372036854775807;

-- A change by hand: the library's statements count the version up.
CREATE TRIGGER pawl_job_by_hand AFTER UPDATE OF schedule, zone, enabled, jitter ON pawl_job
WHEN new.version = old.version
BEGIN
    UPDATE pawl_job
    SET version = version + 1, look_at = 0, problem = NULL, next_slot_at = NULL, next_due_at = NULL,
        since = NULL, awaited_run = NULL,
        anchor = CASE WHEN old.schedule = new.schedule THEN anchor END
    WHERE id = new.id;
END;

-- A correction by hand of a job whose message could not be stored: it is tried at once.
CREATE TRIGGER pawl_job_corrected
AFTER UPDATE OF name, topic, payload, type, destination, headers, correlation_id, priority, max_attempts,
                retry_base, retry_max, retry_jitter, ttl, timeout, lease, heartbeat ON pawl_job
WHEN new.version = old.version AND old.problem IS NOT NULL
BEGIN
    UPDATE pawl_job SET version = version + 1, look_at = 0, problem = NULL WHERE id = new.id;
END;

-- A job's history: runs, and slots that were skipped. Self-contained: it outlives the messages.
CREATE TABLE pawl_job_run (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id       INTEGER NOT NULL,
    triggered    INTEGER NOT NULL DEFAULT 0 CHECK (triggered IN (0, 1)),
    state        INTEGER NOT NULL CHECK (state BETWEEN 0 AND 7), -- the message's; 6 waiting, 7 skipped
    reason       INTEGER NOT NULL DEFAULT 0 CHECK (reason BETWEEN 0 AND 2), -- of a skip: 1 overlap, 2 misfire
    scheduled_at INTEGER NOT NULL,                   -- the slot; of a skip the first
    last_slot_at INTEGER NOT NULL,                   -- of a skip the last
    slots        INTEGER NOT NULL DEFAULT 1 CHECK (slots > 0),
    slots_more   INTEGER NOT NULL DEFAULT 0 CHECK (slots_more IN (0, 1)), -- it was counted no further
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
CREATE UNIQUE INDEX pawl_job_run_slot ON pawl_job_run (job_id, scheduled_at) WHERE triggered = 0;
CREATE INDEX pawl_job_run_job ON pawl_job_run (job_id, id);
CREATE INDEX pawl_job_run_open ON pawl_job_run (job_id, id) WHERE state IN (0, 1, 6);
-- Whether somebody waits in line must not cost a look at all that have not ended.
CREATE INDEX pawl_job_run_waiting ON pawl_job_run (job_id, id) WHERE state = 6;
CREATE INDEX pawl_job_run_begun ON pawl_job_run (job_id, started_at) WHERE started_at IS NOT NULL;
CREATE INDEX pawl_job_run_news ON pawl_job_run (id) WHERE news > 0;

-- The history follows the queue: its beginning is written by the statements claim, abandon, release and
-- reap, its end here, whatever ends it. (A trigger on UPDATE would cost every claim a temporary table.)
-- The scheduler hears of a run that it waits for, and of an end where others may be in line.
CREATE TRIGGER pawl_queue_run_ended AFTER DELETE ON pawl_queue
WHEN old.run_id IS NOT NULL
BEGIN
    UPDATE OR FAIL pawl_job_run
    SET state = o.state, ended_at = o.finished_at, error = o.error, output = o.output,
        attempts = CASE o.state WHEN 2 THEN old.retries + 1 WHEN 3 THEN o.retries
                                ELSE old.retries + (old.fence <> 0) END,
        news = news + EXISTS (SELECT 1 FROM pawl_job
                              WHERE id = job_id
                                AND (awaited_run = old.run_id OR overlap = 'queue'
                                     OR (overlap = 'skip' AND misfire = 'all')))
    FROM (SELECT state, finished_at, retries, error, output FROM pawl_outcome WHERE id = old.id) o
    WHERE pawl_job_run.id = old.run_id;
END;

-- Jobs and their history as their users know them.
CREATE VIEW pawl_jobs AS
    SELECT j.id, j.name AS job_name, j.schedule AS cron_schedule, j.topic, j.payload,
           j.enabled AS is_enabled, j.next_due_at AS next_due_time, r.started_at AS last_run_time,
           CASE r.state WHEN 0 THEN 'Pending' WHEN 1 THEN 'Running' WHEN 2 THEN 'Succeeded'
                        WHEN 3 THEN 'Failed' WHEN 4 THEN 'Expired' WHEN 5 THEN 'Cancelled' END AS last_run_status,
           j.zone, j.misfire, j.overlap, j.problem
    FROM pawl_job j
    LEFT JOIN pawl_job_run r ON r.id = (SELECT b.id FROM pawl_job_run b INDEXED BY pawl_job_run_begun
                                        WHERE b.job_id = j.id AND b.started_at IS NOT NULL
                                        ORDER BY b.started_at DESC LIMIT 1);
CREATE VIEW pawl_job_runs AS
    SELECT r.id, r.job_id, j.name AS job_name, r.scheduled_at AS scheduled_time,
           CASE r.state WHEN 0 THEN 'Pending' WHEN 1 THEN 'Running' WHEN 2 THEN 'Succeeded'
                        WHEN 3 THEN 'Failed' WHEN 4 THEN 'Expired' WHEN 5 THEN 'Cancelled'
                        WHEN 6 THEN 'Waiting' ELSE 'Skipped' END AS status,
           r.claimed_by, r.claimed_at, max(r.attempts - 1, 0) AS retry_count,
           r.started_at AS start_time, r.ended_at AS end_time, r.output, r.error AS last_error,
           r.triggered, r.slots, r.work_id, r.message_id
    FROM pawl_job_run r LEFT JOIN pawl_job j ON j.id = r.job_id;

-- A job with everything known of it. Column order is the library's (src/core/job_list.c).
CREATE VIEW pawl_job_status AS
    SELECT j.id, j.name, j.schedule, j.zone, j.topic, CAST(j.payload AS BLOB) AS payload, j.type,
           j.destination, j.headers, j.correlation_id, j.priority, j.max_attempts, j.retry_base, j.retry_max,
           j.retry_jitter, j.misfire, j.misfire_cap, j.misfire_grace, j.overlap, j.jitter, j.ttl, j.timeout,
           j.lease, j.heartbeat, j.keep_runs, j.keep_age, j.enabled, j.created_at, j.updated_at, j.anchor,
           j.since, j.next_slot_at, j.last_slot_at, j.awaited_run, j.problem,
           (SELECT count(*) FROM pawl_job_run o INDEXED BY pawl_job_run_open
            WHERE o.job_id = j.id AND o.state IN (0, 1, 6)) AS unfinished,
           r.started_at AS last_run_at, r.state AS last_run_state
    FROM pawl_job j
    LEFT JOIN pawl_job_run r ON r.id = (SELECT b.id FROM pawl_job_run b INDEXED BY pawl_job_run_begun
                                        WHERE b.job_id = j.id AND b.started_at IS NOT NULL
                                        ORDER BY b.started_at DESC LIMIT 1);

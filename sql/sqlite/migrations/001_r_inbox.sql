-- The inbox: one row per message that others sent here, under the sender's name and the id it gave.
-- docs/internals/inbox.md explains the design.

CREATE TABLE pawl_inbox_record (
    number       INTEGER PRIMARY KEY AUTOINCREMENT,      -- in the order of arrival: pages of a list
    source       TEXT    NOT NULL CHECK (length(source) BETWEEN @INBOX_KEY_LEAST@ AND @INBOX_KEY_MOST@),
    id           TEXT    NOT NULL CHECK (length(id) BETWEEN @INBOX_KEY_LEAST@ AND @INBOX_KEY_MOST@),
    state        INTEGER NOT NULL CHECK (state BETWEEN 0 AND 3), -- seen, processing, done, dead
    attempts     INTEGER NOT NULL DEFAULT 0,
    max_attempts INTEGER NOT NULL DEFAULT 10,
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
    CHECK ((state = 2) = (processed_at IS NOT NULL)),
    CHECK ((state = 3) = (expires_at IS NULL))
) STRICT;
CREATE UNIQUE INDEX pawl_inbox_key ON pawl_inbox_record (source, id);
CREATE INDEX pawl_inbox_expiry ON pawl_inbox_record (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX pawl_inbox_unfinished ON pawl_inbox_record (number) WHERE state < 2;
CREATE INDEX pawl_inbox_dead ON pawl_inbox_record (number) WHERE state = 3;

-- The inbox as its users know it.
CREATE VIEW pawl_inbox AS
    SELECT id AS message_id, source, endpoint, hash, first_seen AS first_seen_utc,
           last_seen AS last_seen_utc, processed_at AS processed_utc, attempts,
           CASE state WHEN 0 THEN 'Seen' WHEN 1 THEN 'Processing' WHEN 2 THEN 'Done' ELSE 'Dead' END AS status,
           response AS response_payload, expires_at, duplicates, error AS last_error, suspect
    FROM pawl_inbox_record;

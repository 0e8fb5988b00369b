-- What is in progress, claim by claim. The order of the joins is fixed: the claims decide.
DROP VIEW IF EXISTS pawl_owned;
CREATE VIEW pawl_owned AS
    SELECT c.fence, c.owner_name, c.check_at, j.key AS place, q.id, q.lane_id, q.retries, q.owner,
           q.lease_until, q.expires_at
    FROM pawl_claim c
    CROSS JOIN json_each(c.ids) j
    CROSS JOIN pawl_queue q ON q.id = j.value AND q.fence = c.fence;

-- Every message with everything known of it. Column order is the library's (src/core/message.c).
DROP VIEW IF EXISTS pawl_message;
CREATE VIEW pawl_message AS
    SELECT b.id, b.message_id, b.topic, b.payload, b.type, b.destination, b.headers,
           b.correlation_id, b.priority, b.created_at, b.due_at,
           coalesce(q.expires_at, o.expires_at, b.expires_at) AS expires_at,
           b.max_attempts,
           coalesce(q.retries, o.retries) AS retries,
           -- What is past its time to live reads as expired, also before maintenance has moved it;
           -- what is not due yet reads as scheduled.
           CASE WHEN q.fence <> 0 THEN @STATE_RUNNING@
                WHEN q.expires_at <= (SELECT now FROM pawl_clock) THEN @STATE_EXPIRED@
                WHEN o.state = @STATE_FAILED@ AND o.expires_at <= (SELECT now FROM pawl_clock) THEN @STATE_EXPIRED@
                WHEN q.run_at > (SELECT now FROM pawl_clock) THEN @STATE_SCHEDULED@
                ELSE coalesce(o.state, @STATE_READY@) END AS state,
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
DROP VIEW IF EXISTS pawl_outbox;
CREATE VIEW pawl_outbox AS
    SELECT id, topic, payload, created_at,
           -- @include state_word
           lease_until AS locked_until,
           owner AS owner_token, state = @STATE_DONE@ AS is_processed, finished_at AS processed_at,
           processed_by, retries AS retry_count, last_error, next_attempt_at, message_id,
           correlation_id, due_at AS due_time_utc, destination, type, headers, priority, expires_at
    FROM pawl_message;

-- A timer is a message that was sent for a time: for later, or for one that has passed, so due at once.
DROP VIEW IF EXISTS pawl_timer;
CREATE VIEW pawl_timer AS
    SELECT id, message_id, topic, payload, created_at, due_at AS due_time,
           -- @include state_word
           lease_until AS locked_until, owner AS owner_token, claimed_by, retries AS retry_count,
           last_error, finished_at AS processed_at, processed_by, correlation_id, destination,
           headers, priority
    FROM pawl_message
    WHERE due_at > created_at OR (due_at < created_at AND run_id IS NULL);

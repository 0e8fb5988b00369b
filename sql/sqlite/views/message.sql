-- Claimed messages by claim. The order of the joins is fixed and starts at the claims.
DROP VIEW IF EXISTS pawl_owned;
CREATE VIEW pawl_owned AS
    SELECT c.fence, c.owner_name, c.check_at, j.key AS place, q.id, q.lane_id, q.retries, q.owner,
           q.lease_until, q.expires_at
    FROM pawl_claim c
    CROSS JOIN json_each(c.ids) j
    CROSS JOIN pawl_queue q ON q.id = j.value AND q.fence = c.fence;

-- Every message with all its properties.
DROP VIEW IF EXISTS pawl_message;
CREATE VIEW pawl_message AS
    -- @include message_columns row=b expires_at='coalesce(q.expires_at, o.expires_at, b.expires_at)' \
    --     retries='coalesce(q.retries, o.retries)' state=part:state_of_view fence='coalesce(q.fence, 0)' \
    --     owner='CASE WHEN q.fence <> 0 THEN q.owner END' claimed_by=c.owner_name \
    --     lease_until='CASE WHEN q.fence <> 0 THEN q.lease_until END' next_attempt_at=q.run_at \
    --     finished_at=o.finished_at processed_by=o.processed_by last_error='coalesce(o.error, q.last_error)' \
    --     progress='coalesce(o.progress, q.progress)' output=o.output deferrals='coalesce(q.deferrals, 0)'
    FROM pawl_body b
    LEFT JOIN pawl_queue q ON q.id = b.id
    LEFT JOIN pawl_outcome o ON o.id = b.id
    LEFT JOIN pawl_claim c ON c.fence = q.fence;

-- The public view of the outbox.
DROP VIEW IF EXISTS pawl_outbox;
CREATE VIEW pawl_outbox AS
    SELECT id, topic, payload, created_at,
           -- @include state_word
           lease_until AS locked_until,
           owner AS owner_token, state = @STATE_DONE@ AS is_processed, finished_at AS processed_at,
           processed_by, retries AS retry_count, last_error, next_attempt_at, message_id,
           correlation_id, due_at AS due_time_utc, destination, type, headers, priority, expires_at,
           ordering_key, unique_key, tags
    FROM pawl_message;

-- A timer is a message with an explicit due time: later, or already past and therefore due at once.
DROP VIEW IF EXISTS pawl_timer;
CREATE VIEW pawl_timer AS
    SELECT id, message_id, topic, payload, created_at, due_at AS due_time,
           -- @include state_word
           lease_until AS locked_until, owner AS owner_token, claimed_by, retries AS retry_count,
           last_error, finished_at AS processed_at, processed_by, correlation_id, destination,
           headers, priority, ordering_key, unique_key, tags
    FROM pawl_message
    WHERE due_at > created_at OR (due_at < created_at AND run_id IS NULL);

-- The public view of the inbox.
DROP VIEW IF EXISTS pawl_inbox;
CREATE VIEW pawl_inbox AS
    SELECT id AS message_id, source, endpoint, hash, first_seen AS first_seen_utc,
           last_seen AS last_seen_utc, processed_at AS processed_utc, attempts,
           CASE state WHEN @INBOX_SEEN@ THEN 'seen' WHEN @INBOX_PROCESSING@ THEN 'processing' WHEN @INBOX_DONE@ THEN 'done' ELSE 'dead' END AS status,
           response AS response_payload, expires_at, duplicates, error AS last_error, suspect
    FROM pawl_inbox_record;

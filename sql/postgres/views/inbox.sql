DO $$
BEGIN
    -- The public view of the inbox.
    PERFORM pawl.replace_view('pawl.inbox', $view$
        SELECT id AS message_id, source, endpoint, hash, first_seen AS first_seen_utc,
               last_seen AS last_seen_utc, processed_at AS processed_utc, attempts,
               CASE state WHEN @INBOX_SEEN@ THEN 'seen' WHEN @INBOX_PROCESSING@ THEN 'processing' WHEN @INBOX_DONE@ THEN 'done' ELSE 'dead' END AS status,
               response AS response_payload, expires_at, duplicates, error AS last_error, suspect
        FROM pawl.inbox_record
    $view$);
END
$$;

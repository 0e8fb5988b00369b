-- Write down that it was seen. Answers its state, and whether it is there with other content, in which
-- case nothing was written.
INSERT INTO pawl_inbox_record AS r (source, id, state, max_attempts, first_seen, last_seen, expires_at, hash)
VALUES (:source, :id, 0, :max_attempts, :now, :now, :now + :keep, :hash)
ON CONFLICT (source, id) DO UPDATE
SET last_seen = excluded.last_seen, hash = coalesce(r.hash, excluded.hash),
    duplicates = r.duplicates + (r.state = 2),
    expires_at = CASE WHEN r.state = 0 THEN excluded.expires_at ELSE r.expires_at END
WHERE (r.hash <> excluded.hash) IS NOT TRUE;

SELECT state, (hash <> :hash) IS TRUE FROM pawl_inbox_record INDEXED BY pawl_inbox_key
WHERE source = :source AND id = :id;

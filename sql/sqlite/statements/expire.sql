-- What nobody holds and is past its time to live; then failed messages that are past theirs.
INSERT INTO pawl_outcome (id, state, finished_at, retries, error)
SELECT id, 4, :now, retries, last_error FROM pawl_queue
WHERE id IN (SELECT id FROM pawl_queue WHERE expires_at <= :now AND fence = 0 ORDER BY expires_at LIMIT :limit);

INSERT INTO pawl_tally (lane_id, state, n)
SELECT lane_id, 4, count(*) FROM pawl_queue
WHERE id IN (SELECT id FROM pawl_queue WHERE expires_at <= :now AND fence = 0 ORDER BY expires_at LIMIT :limit)
GROUP BY lane_id
ON CONFLICT (lane_id, state) DO UPDATE SET n = n + excluded.n;

DELETE FROM pawl_queue
WHERE id IN (SELECT id FROM pawl_queue WHERE expires_at <= :now AND fence = 0 ORDER BY expires_at LIMIT :limit)
RETURNING 1;

INSERT INTO pawl_tally (lane_id, state, n)
SELECT b.lane_id, 4, count(*)
FROM (SELECT id FROM pawl_outcome WHERE state = 3 AND expires_at <= :now ORDER BY expires_at LIMIT :limit) o
JOIN pawl_body b ON b.id = o.id
GROUP BY b.lane_id
ON CONFLICT (lane_id, state) DO UPDATE SET n = n + excluded.n;

UPDATE pawl_outcome SET state = 4, expires_at = NULL
WHERE id IN (SELECT id FROM pawl_outcome WHERE state = 3 AND expires_at <= :now ORDER BY expires_at LIMIT :limit)
RETURNING 1;

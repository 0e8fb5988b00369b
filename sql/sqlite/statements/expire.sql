-- What nobody holds and is past its time to live; then failed messages that are past theirs.
-- Nothing of either writes nothing.
UPDATE pawl_meta SET latest_time = :now
WHERE id = 1
  AND (EXISTS (SELECT 1 FROM pawl_queue INDEXED BY pawl_queue_expiry
               WHERE fence = 0 AND expires_at <= :now)
       OR EXISTS (SELECT 1 FROM pawl_outcome INDEXED BY pawl_outcome_expiry
                  WHERE state = 3 AND expires_at <= :now));

INSERT OR FAIL INTO pawl_outcome (id, state, finished_at, retries, error, progress)
SELECT id, 4, :now, retries, last_error, progress FROM pawl_queue INDEXED BY pawl_queue_expiry
WHERE fence = 0 AND expires_at <= :now
ORDER BY expires_at, id LIMIT :limit;

UPDATE OR FAIL pawl_tally
SET expired = expired + gone.n
FROM (SELECT lane_id, count(*) AS n
      FROM (SELECT lane_id FROM pawl_queue INDEXED BY pawl_queue_expiry
            WHERE fence = 0 AND expires_at <= :now
            ORDER BY expires_at, id LIMIT :limit)
      GROUP BY lane_id) gone
WHERE pawl_tally.lane_id = gone.lane_id;

INSERT OR IGNORE INTO pawl_dead (id, run_at)
SELECT late.id, :now
FROM (SELECT id, lane_id FROM pawl_queue INDEXED BY pawl_queue_expiry
      WHERE fence = 0 AND expires_at <= :now
      ORDER BY expires_at, id LIMIT :limit) late
CROSS JOIN pawl_tally t ON t.lane_id = late.lane_id
WHERE t.dead;

DELETE FROM pawl_queue
WHERE id IN (SELECT id FROM pawl_queue INDEXED BY pawl_queue_expiry
             WHERE fence = 0 AND expires_at <= :now
             ORDER BY expires_at, id LIMIT :limit);

SELECT changes();

-- These were dead letters before, and were recorded as such then.
INSERT INTO pawl_total (topic, expired, changed_at)
SELECT b.topic, count(*), :now
FROM (SELECT id FROM pawl_outcome INDEXED BY pawl_outcome_expiry
      WHERE state = 3 AND expires_at <= :now
      ORDER BY expires_at, id LIMIT :limit) late
CROSS JOIN pawl_body b ON b.id = late.id
WHERE true
GROUP BY b.topic
ON CONFLICT (topic) DO UPDATE SET expired = expired + excluded.expired, changed_at = excluded.changed_at;

UPDATE OR FAIL pawl_outcome SET state = 4, expires_at = NULL
WHERE id IN (SELECT id FROM pawl_outcome INDEXED BY pawl_outcome_expiry
             WHERE state = 3 AND expires_at <= :now
             ORDER BY expires_at, id LIMIT :limit);

SELECT changes();

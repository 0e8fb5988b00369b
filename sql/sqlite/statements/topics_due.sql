-- Topics with a message that is due now, for local handlers and not paused; :limit of them at most.
SELECT DISTINCT l.topic
FROM pawl_tally t INDEXED BY pawl_tally_turn
CROSS JOIN pawl_lane l ON l.id = t.lane_id
WHERE t.paused = 0 AND t.destination = ''
  AND EXISTS (SELECT 1 FROM pawl_queue q INDEXED BY pawl_queue_due
              WHERE q.lane_id = t.lane_id AND q.fence = 0 AND q.run_at <= :now
                AND (q.expires_at IS NULL OR q.expires_at > :now))
LIMIT :limit;

-- The clock, and when the next message is ready: also before it, for there are no dead index entries
-- to walk over. One range of the index per lane that is not paused, left at its first row that has not expired.
SELECT :now,
       (SELECT min((SELECT q.run_at FROM pawl_queue q INDEXED BY pawl_queue_due
                    WHERE q.lane_id = t.lane_id AND q.fence = 0
                      AND (q.expires_at IS NULL OR q.expires_at > :now)
                    ORDER BY q.run_at LIMIT 1))
        FROM pawl_tally t INDEXED BY pawl_tally_turn
        WHERE t.paused = 0
          AND (:topics IS NULL
               OR (SELECT topic FROM pawl_lane WHERE id = t.lane_id)
                  IN (SELECT value FROM json_each(:topics))));

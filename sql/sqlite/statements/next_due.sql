-- The clock, and when the next message is ready: also before it, for there are no dead index entries
-- to walk over. One range of the index per lane that is not paused, left at its first row that has
-- not expired. Of the messages for local handlers; or for :destinations; or, with :others, for all
-- destinations but those.
SELECT :now,
       (SELECT min((SELECT q.run_at FROM pawl_queue q INDEXED BY pawl_queue_due
                    WHERE q.lane_id = t.lane_id AND q.fence = 0
                      AND (q.expires_at IS NULL OR q.expires_at > :now)
                    ORDER BY q.run_at LIMIT 1))
        FROM pawl_tally t INDEXED BY pawl_tally_turn
        WHERE t.paused = 0
          AND t.destination IN (SELECT '' WHERE :destinations IS NULL
                                UNION ALL
                                SELECT value FROM json_each(:destinations)
                                WHERE NOT :others AND value > ''
                                UNION ALL
                                SELECT destination FROM pawl_lane INDEXED BY pawl_lane_destination
                                WHERE :others AND destination > ''
                                  AND destination NOT IN (SELECT value FROM json_each(:destinations)))
          AND (:topics IS NULL
               OR (SELECT topic FROM pawl_lane WHERE id = t.lane_id)
                  IN (SELECT value FROM json_each(:topics))));

-- The clock, and when the next message is ready: also before it, for there are no dead index entries
-- to walk over. One range of the index per lane, left at its first row that has not expired.
SELECT :now,
       (SELECT min((SELECT q.run_at FROM pawl_queue q INDEXED BY pawl_queue_due
                    WHERE q.lane_id = l.id AND q.fence = 0
                      AND (q.expires_at IS NULL OR q.expires_at > :now)
                    ORDER BY q.run_at LIMIT 1))
        FROM pawl_lane l
        WHERE :topics IS NULL OR l.topic IN (SELECT value FROM json_each(:topics)));

       -- Mostly they are of one lane, and what does not depend on the row is looked up once.
       CASE (SELECT count(*) FROM pawli_rows(:rows) WHERE other_lane)
           WHEN 1 THEN (SELECT l.id FROM pawli_rows(:rows) f CROSS JOIN pawl_lane l INDEXED BY pawl_lane_name
                        ON l.topic = f.topic AND l.priority = f.priority
                           AND l.destination = coalesce(f.destination, '') LIMIT 1)
           ELSE (SELECT l.id FROM pawl_lane l INDEXED BY pawl_lane_name
                 WHERE l.topic = b.topic AND l.priority = b.priority
                   AND l.destination = coalesce(b.destination, '')) END,

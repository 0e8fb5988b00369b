-- Take what is ready and due. The claim row is written first and names the items; nothing due
-- writes nothing. LIMIT -1 keeps the ordered list of lanes from being merged into the join, CROSS
-- JOIN keeps it outside: each lane is one bounded range of the index, in order, until enough. The
-- lanes asked for that have the same priority take turns: each is first as often as any other.
-- @stop-unless-changed
INSERT OR FAIL INTO pawl_claim (fence, owner, owner_name, check_at, ids)
SELECT (SELECT fence + 1 FROM pawl_meta WHERE id = 1), :owner, :owner_name, check_at, ids
FROM (SELECT count(*) AS n, min(:now + coalesce(lease, :lease)) AS check_at,
             json_group_array(id) AS ids
      FROM (SELECT q.id, q.lease
            FROM (SELECT id
                  FROM (SELECT id, priority, count(*) OVER (PARTITION BY priority) AS places,
                               row_number() OVER (PARTITION BY priority ORDER BY id) AS place
                        FROM pawl_lane
                        WHERE :topics IS NULL OR topic IN (SELECT value FROM json_each(:topics)))
                  ORDER BY priority DESC, (place + :turn) % places
                  LIMIT -1) lane
            CROSS JOIN pawl_queue q INDEXED BY pawl_queue_due
                    ON q.lane_id = lane.id AND q.fence = 0 AND q.run_at <= :now
            WHERE q.expires_at IS NULL OR q.expires_at > :now
            LIMIT :limit))
WHERE n > 0;

UPDATE pawl_meta SET fence = fence + 1, latest_time = :now WHERE id = 1;

UPDATE OR FAIL pawl_queue
SET owner = :owner, lease_until = :now + coalesce(lease, :lease),
    fence = (SELECT fence FROM pawl_meta WHERE id = 1)
WHERE id IN (SELECT j.value FROM pawl_claim c CROSS JOIN json_each(c.ids) j
             WHERE c.fence = (SELECT fence FROM pawl_meta WHERE id = 1));

UPDATE OR FAIL pawl_lane
SET held = held + taken.n
FROM (SELECT lane_id, count(*) AS n FROM pawl_held
      WHERE fence = (SELECT fence FROM pawl_meta WHERE id = 1)
      GROUP BY lane_id) taken
WHERE pawl_lane.id = taken.lane_id;

-- json_each answers in the array's order, which is the claim's; sorting would copy the payloads.
SELECT m.*
FROM pawl_claim c
CROSS JOIN json_each(c.ids) j
CROSS JOIN pawl_message m ON m.id = j.value
WHERE c.fence = (SELECT fence FROM pawl_meta WHERE id = 1);

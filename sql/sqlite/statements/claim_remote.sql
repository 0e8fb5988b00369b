-- @include claim_acks

-- Take what is ready and due for the destinations, in their order, of each as many as :limits says.
-- A limit cannot depend on a row, so :most, the highest of them, are looked at. Within one as in
-- claim.sql: lanes of higher priority first, then the one that has waited longest.
-- @stop-unless-changed
INSERT OR FAIL INTO pawl_claim (fence, owner, owner_name, check_at, runs, last_id, ids)
SELECT
-- @include next_fence
       , :owner, :owner_name, check_at, runs, last_id, ids
FROM (SELECT count(*) AS n, :now + min(min(coalesce(lease, :lease)), @LEASE_MOST@000) AS check_at,
             max(run_id IS NOT NULL) AS runs, max(id) AS last_id, json_group_array(id) AS ids
      FROM (SELECT f.id, f.lease, f.run_id
            FROM json_each(:destinations) named
            CROSS JOIN json_each(
                (SELECT json_group_array(id)
                 FROM (SELECT q.id
                       FROM pawl_tally t INDEXED BY pawl_tally_turn
                       CROSS JOIN pawl_queue q INDEXED BY pawl_queue_due
                               ON q.lane_id = t.lane_id AND q.fence = 0 AND q.run_at <= :now
                       WHERE t.paused = 0 AND t.destination = named.value
                         AND (q.expires_at IS NULL OR q.expires_at > :now)
                       ORDER BY t.priority DESC, t.turn
                       LIMIT :most))) j
            CROSS JOIN pawl_queue f ON f.id = j.value
            WHERE named.value > ''
              AND (:limits IS NULL OR j.key < json_extract(:limits, '$[' || named.key || ']'))
            LIMIT :limit))
WHERE n > 0;

-- @include claim_end

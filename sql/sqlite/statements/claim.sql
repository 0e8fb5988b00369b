-- @include claim_acks

-- Take what is ready and due for local handlers. The claim row is written first and names the items;
-- nothing due writes nothing. Each lane is one bounded range of the index, until there are enough: lanes of
-- higher priority first, then the one that has waited longest for its turn.
-- @stop-unless-changed
INSERT OR FAIL INTO pawl_claim (fence, owner, owner_name, check_at, runs, last_id, ids)
SELECT
-- @include next_fence
       , :owner, :owner_name, check_at, runs, last_id, ids
FROM (SELECT count(*) AS n, :now + min(min(coalesce(lease, :lease)), @LEASE_MOST@000) AS check_at,
             max(run_id IS NOT NULL) AS runs, max(id) AS last_id, json_group_array(id) AS ids
      FROM (SELECT q.id, q.lease, q.run_id
            FROM pawl_tally t INDEXED BY pawl_tally_turn
            CROSS JOIN pawl_queue q INDEXED BY pawl_queue_due
                    ON q.lane_id = t.lane_id AND q.fence = 0 AND q.run_at <= :now
            WHERE t.paused = 0 AND t.destination = ''
              AND (:topics IS NULL
                   OR (SELECT topic FROM pawl_lane WHERE id = t.lane_id)
                      IN (SELECT value FROM json_each(:topics)))
              AND (q.expires_at IS NULL OR q.expires_at > :now)
            ORDER BY t.priority DESC, t.turn
            LIMIT :limit))
WHERE n > 0;

-- @include claim_end

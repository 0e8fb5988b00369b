-- What waits for another attempt at :destination is due now, :limit of it at most; and whoever delivers
-- learns by the lanes' new token that it is to try now. Answers how many became due.
UPDATE pawl_meta
SET fence =
-- @include next_fence
       ,
-- @include fence_mark
    latest_time = :now
WHERE id = 1;

UPDATE OR FAIL pawl_lane SET woken = (SELECT fence FROM pawl_meta WHERE id = 1)
WHERE destination = :destination AND destination > '';

UPDATE OR FAIL pawl_queue SET run_at = :now
WHERE id IN (SELECT q.id
             FROM pawl_lane l INDEXED BY pawl_lane_destination
             CROSS JOIN pawl_queue q INDEXED BY pawl_queue_due
                     ON q.lane_id = l.id AND q.fence = 0 AND q.run_at > :now
             WHERE l.destination = :destination AND l.destination > '' AND q.retries + q.deferrals > 0
             LIMIT :limit);

SELECT changes();

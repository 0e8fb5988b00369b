-- Dead letters whose handler is to be called now. Answers the columns of pawl_message, the lease
-- being that of the call, and which call it is.
-- @stop-unless-changed
UPDATE pawl_meta
SET fence =
-- @include next_fence
       ,
-- @include fence_mark
    latest_time = :now
WHERE id = 1
  AND EXISTS (SELECT 1 FROM pawl_dead d INDEXED BY pawl_dead_due
              CROSS JOIN pawl_body b ON b.id = d.id
              WHERE d.run_at <= :now
                AND (:topics IS NULL OR b.topic IN (SELECT value FROM json_each(:topics))));

UPDATE OR FAIL pawl_dead
SET owner = :owner, fence = (SELECT fence FROM pawl_meta WHERE id = 1), calls = calls + 1,
    run_at = :now + :lease
WHERE id IN (SELECT d.id FROM pawl_dead d INDEXED BY pawl_dead_due
             CROSS JOIN pawl_body b ON b.id = d.id
             WHERE d.run_at <= :now
               AND (:topics IS NULL OR b.topic IN (SELECT value FROM json_each(:topics)))
             ORDER BY d.run_at LIMIT :limit);

SELECT m.id, m.message_id, m.topic, m.payload, m.type, m.destination, m.headers, m.correlation_id,
       m.priority, m.created_at, m.due_at, m.expires_at, m.max_attempts, m.retries, m.state, d.fence,
       d.owner, NULL, d.run_at, NULL, m.finished_at, m.processed_by, m.last_error, m.progress,
       m.timeout, m.heartbeat, m.run_id, m.output, m.deferrals, m.retry_base, m.retry_max, m.retry_jitter,
       m.count_all, d.calls
FROM pawl_dead d INDEXED BY pawl_dead_due
CROSS JOIN pawl_message m ON m.id = d.id
WHERE d.run_at = :now + :lease AND d.fence = (SELECT fence FROM pawl_meta WHERE id = 1)
ORDER BY m.id;

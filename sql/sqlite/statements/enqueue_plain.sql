-- Store new messages that have no options. As enqueue_fresh, with half the columns.
-- @include lanes
INSERT OR FAIL INTO pawl_body (message_id, topic, priority, type, created_at, due_at, max_attempts, payload)
SELECT message_id, topic, priority, type, :now, :now, max_attempts, payload
FROM pawli_rows(:rows) r;

INSERT OR FAIL INTO pawl_queue (id, lane_id, run_at)
SELECT id,
-- @include lane_of_row
       :now
FROM pawl_body b
WHERE id > last_insert_rowid() - (SELECT count(*) FROM pawli_rows(:rows));

SELECT NULL, last_insert_rowid() - (SELECT count(*) FROM pawli_rows(:rows)) + 1, 0, :now;

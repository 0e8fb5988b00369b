INSERT OR FAIL INTO pawl_queue (id, lane_id, run_at, expires_at, lease, run_id)
SELECT id,
       (SELECT l.id FROM pawl_lane l INDEXED BY pawl_lane_name
        WHERE l.topic = b.topic AND l.priority = b.priority AND l.destination = coalesce(b.destination, '')),
       :now, expires_at, lease, run_id
FROM pawl_body b
WHERE id = last_insert_rowid() AND changes() = 1;

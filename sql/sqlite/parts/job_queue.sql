INSERT OR FAIL INTO pawl_queue (id, lane_id, run_at, expires_at, lease, run_id)
SELECT id, lane_id, :now, expires_at, lease, run_id FROM pawl_body
WHERE id = last_insert_rowid() AND changes() = 1;

SELECT r.id, (SELECT name FROM pawl_job WHERE id = r.job_id), r.triggered, r.state, r.reason, r.scheduled_at,
       r.last_slot_at, r.slots, r.slots_more, r.work_id, r.message_id, r.created_at, r.started_at,
       r.claimed_at, r.ended_at, r.claimed_by, r.attempts, r.error,

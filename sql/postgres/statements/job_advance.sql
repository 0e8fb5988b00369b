-- What the scheduler decided.
SELECT * FROM pawl.job_advance(
    steps => :step, job_ids => :job_id, seen => :seen, run_ids => :run_id, slots => :slot,
    last_slots => :last_slot, dues => :due, looks => :look_at, sinces => :since, anchors => :anchor,
    counts => :slots, more => :slots_more, in_line => :in_line, awaits => :awaits, problems => :problem,
    message_ids => :message_id, planned => :planned_at, rewinds => :rewinds);

-- Messages sent for later that nobody holds, by due time.
SELECT * FROM pawl.timer_pending(
    topic => :topic, destination => :destination, correlation_id => :correlation_id,
    after_due => :after_due, after_id => :after_id, due_before => :due_before, max_rows => :limit,
    scan => :scan, with_payload => :with_payload);

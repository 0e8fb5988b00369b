-- sql/postgres/timer.sql - messages with a due time.

-- name: timer_pending
-- Timers that are not claimed, by due time.
SELECT * FROM pawl.timer_pending(
    topic => :topic, destination => :destination, correlation_id => :correlation_id,
    after_due => :after_due, after_id => :after_id, due_before => :due_before, max_rows => :limit,
    scan => :scan, with_payload => :with_payload);

-- name: timer_count
-- The number of timers that are not claimed, and whether counting stopped at its limit.
SELECT * FROM pawl.timer_count(
    topic => :topic, destination => :destination, correlation_id => :correlation_id,
    after_due => :after_due, after_id => :after_id, due_before => :due_before, scan => :scan);

-- name: timer_cancel
-- Cancel timers that are not claimed.
SELECT pawl.unschedule(message_ids => :message_id);

-- sql/postgres/timer.sql - messages sent for later.

-- name: timer_pending
-- Messages sent for later that nobody holds, by due time.
SELECT * FROM pawl.timer_pending(
    topic => :topic, destination => :destination, correlation_id => :correlation_id,
    after_due => :after_due, after_id => :after_id, due_before => :due_before, max_rows => :limit,
    scan => :scan, with_payload => :with_payload);

-- name: timer_count
-- How many messages sent for later nobody holds, and whether counting ended by its bound.
SELECT * FROM pawl.timer_count(
    topic => :topic, destination => :destination, correlation_id => :correlation_id,
    after_due => :after_due, after_id => :after_id, due_before => :due_before, scan => :scan);

-- name: timer_cancel
-- End messages that nobody has begun with.
SELECT pawl.unschedule(message_ids => :message_id);

-- How many messages sent for later nobody holds, and whether counting ended by its bound.
SELECT * FROM pawl.timer_count(
    topic => :topic, destination => :destination, correlation_id => :correlation_id,
    after_due => :after_due, after_id => :after_id, due_before => :due_before, scan => :scan);

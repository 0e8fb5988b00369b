-- All messages, newest first.
SELECT * FROM pawl.list_any(
    states => :states, topic => :topic, correlation_id => :correlation_id,
    created_before => :created_before, before => :before, max_rows => :limit, scan => :scan,
    with_payload => :with_payload);

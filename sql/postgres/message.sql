-- sql/postgres/message.sql - read, list, count and change messages.

-- part: list_arguments
states => :states, topic => :topic, correlation_id => :correlation_id,
created_before => :created_before, before => :before, max_rows => :limit, scan => :scan,
with_payload => :with_payload

-- name: get
-- One message by its work id.
SELECT * FROM pawl.get(id => :id);

-- name: find
-- One message by its message id.
SELECT * FROM pawl.find(message_id => :message_id);

-- name: list_any
-- All messages, newest first.
SELECT * FROM pawl.list_any(
    -- @include list_arguments
    );

-- name: list_unfinished
-- Messages that are not finished, newest first.
SELECT * FROM pawl.list_unfinished(
    -- @include list_arguments
    );

-- name: list_dead
-- Failed, expired and cancelled messages, newest first.
SELECT * FROM pawl.list_dead(
    -- @include list_arguments
    );

-- name: stats
-- Unfinished and finished message counts per topic.
SELECT * FROM pawl.stats(cap => :cap);

-- name: cancel
-- Cancel messages that are ready or running.
SELECT pawl.cancel(ids => :id);

-- name: retry
-- Make dead letters ready again.
SELECT pawl.retry(ids => :id);

-- name: purge
-- Delete finished messages.
SELECT pawl.purge(ids => :id);

-- sql/postgres/message.sql - messages one by one, in lists, and counted.

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
-- Per topic: what is unfinished, and what has ended.
SELECT * FROM pawl.stats(cap => :cap);

-- name: cancel
-- End messages that are ready or in progress.
SELECT pawl.cancel(ids => :id);

-- name: retry
-- Dead letters become ready again.
SELECT pawl.retry(ids => :id);

-- name: purge
-- Remove finished messages for good.
SELECT pawl.purge(ids => :id);

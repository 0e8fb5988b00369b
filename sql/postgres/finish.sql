-- sql/postgres/finish.sql - finish, return or renew claimed messages.

-- part: later_policy
owner => :owner, ids => :id, fences => :fence, error => :error, delay => :delay,
local_base => :local_base, local_max => :local_max, local_jitter => :local_jitter,
remote_base => :remote_base, remote_max => :remote_max, remote_jitter => :remote_jitter

-- name: ack
-- Acknowledge messages as done.
SELECT pawl.ack(owner => :owner, ids => :id, fences => :fence);

-- name: ack_output
-- Acknowledge messages as done and store the handlers' output.
SELECT pawl.ack_output(owner => :owner, ids => :id, fences => :fence, outputs => :output);

-- name: abandon
-- Record a failed attempt: the message is retried later, or fails on its last attempt.
SELECT pawl.abandon(
    -- @include later_policy
    );

-- name: defer
-- Return messages for a later retry without counting an attempt.
SELECT pawl.defer(
    -- @include later_policy
    );

-- name: fail
-- Fail messages permanently.
SELECT pawl.fail(owner => :owner, ids => :id, fences => :fence, error => :error);

-- name: release
-- Make messages ready again at once without counting an attempt.
SELECT pawl.release(owner => :owner, ids => :id, fences => :fence);

-- name: renew
-- Extend the lease.
SELECT pawl.renew(owner => :owner, ids => :id, fences => :fence, lease => :lease);

-- name: progress
-- Store the handler's progress text.
SELECT pawl.progress(owner => :owner, ids => :id, fences => :fence, words => :text);

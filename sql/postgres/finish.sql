-- sql/postgres/finish.sql - finish, return or renew claimed messages.

-- part: later_policy
owner => :owner, ids => :id, fences => :fence, error => :error, delay => :delay,
local_base => :local_base, local_max => :local_max, local_jitter => :local_jitter,
remote_base => :remote_base, remote_max => :remote_max, remote_jitter => :remote_jitter

-- name: ack
-- Acknowledge messages as done.
SELECT a.changed,
       -- @include which
FROM (SELECT pawl.ack(owner => :owner, ids => :id, fences => :fence) AS changed) a;

-- name: ack_output
-- Acknowledge messages as done and store the handlers' output.
SELECT pawl.ack_output(owner => :owner, ids => :id, fences => :fence, outputs => :output);

-- name: abandon
-- Record a failed attempt: the message is retried later, or fails on its last attempt.
SELECT a.changed,
       -- @include which
FROM (SELECT pawl.abandon(
          -- @include later_policy
          ) AS changed) a;

-- name: defer
-- Return messages for a later retry without counting an attempt.
SELECT a.changed,
       -- @include which
FROM (SELECT pawl.defer(
          -- @include later_policy
          ) AS changed) a;

-- name: fail
-- Fail messages permanently.
SELECT a.changed,
       -- @include which
FROM (SELECT pawl.fail(owner => :owner, ids => :id, fences => :fence, error => :error) AS changed) a;

-- name: release
-- Make messages ready again at once without counting an attempt.
SELECT a.changed,
       -- @include which
FROM (SELECT pawl.release(owner => :owner, ids => :id, fences => :fence) AS changed) a;

-- name: renew
-- Extend the lease.
SELECT a.changed,
       -- @include which
FROM (SELECT pawl.renew(owner => :owner, ids => :id, fences => :fence, lease => :lease) AS changed) a;

-- name: progress
-- Store the handler's progress text.
SELECT pawl.progress(owner => :owner, ids => :id, fences => :fence, words => :text) AS changed;

-- sql/postgres/finish.sql - what the owner of a claim does with its messages.

-- part: later_policy
owner => :owner, ids => :id, fences => :fence, error => :error, delay => :delay,
local_base => :local_base, local_max => :local_max, local_jitter => :local_jitter,
remote_base => :remote_base, remote_max => :remote_max, remote_jitter => :remote_jitter

-- name: ack
-- Done.
SELECT pawl.ack(owner => :owner, ids => :id, fences => :fence);

-- name: ack_output
-- Done, with what the handlers left.
SELECT pawl.ack_output(owner => :owner, ids => :id, fences => :fence, outputs => :output);

-- name: abandon
-- Not now: ready again later, or failed at the last attempt.
SELECT pawl.abandon(
    -- @include later_policy
    );

-- name: defer
-- Not now, and not counted: ready again later.
SELECT pawl.defer(
    -- @include later_policy
    );

-- name: fail
-- Failed for good.
SELECT pawl.fail(owner => :owner, ids => :id, fences => :fence, error => :error);

-- name: release
-- Ready again at once, the attempt not counted.
SELECT pawl.release(owner => :owner, ids => :id, fences => :fence);

-- name: renew
-- Push the end of the lease.
SELECT pawl.renew(owner => :owner, ids => :id, fences => :fence, lease => :lease);

-- name: progress
-- How far it is, in the words of whoever holds it.
SELECT pawl.progress(owner => :owner, ids => :id, fences => :fence, words => :text);

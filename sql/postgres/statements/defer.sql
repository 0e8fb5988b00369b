-- Not now, and not counted: ready again later.
SELECT pawl.defer(
    owner => :owner, ids => :id, fences => :fence, error => :error, delay => :delay,
    local_base => :local_base, local_max => :local_max, local_jitter => :local_jitter,
    remote_base => :remote_base, remote_max => :remote_max, remote_jitter => :remote_jitter);

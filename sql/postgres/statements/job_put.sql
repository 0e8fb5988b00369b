-- Create a job or change it. Answers whether there was none before.
SELECT pawl.job_put(
    name => :name, schedule => :schedule, topic => :topic, payload => :payload, zone => :zone,
    destination => :destination, headers => CAST(:headers AS json), correlation_id => :correlation_id,
    priority => :priority, type => :type_name, max_attempts => :max_attempts, retry_base => :retry_base,
    retry_max => :retry_max, retry_jitter => :retry_jitter, misfire => :misfire,
    misfire_cap => :misfire_cap, misfire_grace => :misfire_grace, overlap => :overlap, jitter => :jitter,
    ttl => :ttl, timeout => :timeout, lease => :lease, heartbeat => :heartbeat, keep_runs => :keep_runs,
    keep_age => :keep_age, enabled => :enabled);

-- sql/postgres/job.sql - scheduled jobs and their runs.

-- name: job_put
-- Create or change a job. Returns whether it is new.
SELECT pawl.job_put(
    name => :name, schedule => :schedule, topic => :topic, payload => :payload, zone => :zone,
    destination => :destination, headers => CAST(:headers AS json), correlation_id => :correlation_id,
    priority => :priority, type => :type_name, max_attempts => :max_attempts, retry_base => :retry_base,
    retry_max => :retry_max, retry_jitter => :retry_jitter, misfire => :misfire,
    misfire_cap => :misfire_cap, misfire_grace => :misfire_grace, overlap => :overlap, jitter => :jitter,
    ttl => :ttl, timeout => :timeout, lease => :lease, heartbeat => :heartbeat, keep_runs => :keep_runs,
    keep_age => :keep_age, enabled => :enabled);

-- name: job_get
-- One job by its name: the clock, then the columns of job_status.
SELECT pawl.now() AS at, s.* FROM pawl.job_get(name => :name) s;

-- name: job_list
-- Jobs by name: the clock, then the columns of job_status, without payloads.
SELECT pawl.now() AS at, s.* FROM pawl.job_list(after => :after, max_rows => :limit) s;

-- name: job_switch
-- Enable or disable a job. Returns whether the job exists and whether it changed.
SELECT * FROM pawl.job_switch(name => :name, enabled => :enabled);

-- name: job_trigger
-- Start a run outside the schedule.
SELECT * FROM pawl.job_fire(name => :name, forced => :force, message_id => :message_id);

-- name: job_delete
-- Remove a job and its history. Returns the rows (0, number of cancelled runs) and (1, number of removed jobs).
SELECT 1 - n.kind, CASE n.kind WHEN 1 THEN coalesce(r.cancelled, 0) ELSE (r.cancelled IS NOT NULL)::integer END
FROM pawl.job_remove(name => :name) AS r(cancelled), generate_series(0, 1) AS n(kind);

-- name: job_due
-- The jobs that the scheduler must process.
SELECT * FROM pawl.job_due(max_rows => :limit);

-- name: job_advance
-- Apply the scheduler's decisions.
SELECT * FROM pawl.job_advance(
    steps => :step, job_ids => :job_id, seen => :seen, run_ids => :run_id, occurrences => :occurrence,
    last_occurrences => :last_occurrence, dues => :due, next_checks => :next_check_at, sinces => :since, anchors => :anchor,
    counts => :occurrences, more => :occurrences_more, in_line => :in_line, awaits => :awaits, problems => :problem,
    message_ids => :message_id, planned => :planned_at, rewinds => :rewinds);

-- name: job_runs
-- A job's history, newest first.
SELECT * FROM pawl.job_run_list(
    job => :job, states => :states, before => :before, max_rows => :limit, scan => :scan,
    with_output => :with_output);

-- name: job_run
-- One run with its output.
SELECT r.run_id AS id, r.* FROM pawl.job_run_get(id => :id) r;

-- name: job_clean
-- Delete job history that is past its retention.
SELECT * FROM pawl.job_clean(max_rows => :limit);

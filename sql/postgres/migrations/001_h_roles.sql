-- Who may do what. The functions run with the caller's rights, so each role also gets the table
-- rights its functions need. Roles belong to the whole cluster; where they may not be created, the
-- functions are the owner's alone until somebody grants them.

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pawl FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA pawl FROM PUBLIC;

DO $$
DECLARE
    wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['pawl_send', 'pawl_work', 'pawl_admin'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = wanted) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
            EXCEPTION
                WHEN duplicate_object OR unique_violation THEN NULL; -- somebody was faster
                WHEN insufficient_privilege THEN
                    RAISE NOTICE 'the role % is not there and may not be created; going on without it', wanted;
            END;
        END IF;
    END LOOP;
    IF (SELECT count(*) FROM pg_roles r WHERE r.rolname IN ('pawl_send', 'pawl_work', 'pawl_admin')) < 3 THEN
        RETURN;
    END IF;

    GRANT USAGE ON SCHEMA pawl TO pawl_send, pawl_work, pawl_admin;

    -- Sending. SELECT on the body is for the comparison with a message of the same id.
    GRANT SELECT ON pawl.meta TO pawl_send, pawl_work;
    GRANT SELECT, INSERT ON pawl.lane TO pawl_send, pawl_work;
    GRANT INSERT ON pawl.body, pawl.queue TO pawl_send, pawl_work;
    GRANT SELECT (id, message_id, lane_id, payload, due_at, expires_at, lease) ON pawl.body TO pawl_send;
    GRANT USAGE ON SEQUENCE pawl.body_id_seq TO pawl_send, pawl_work;
    GRANT SELECT ON pawl.sleeper TO pawl_send, pawl_work; -- whether somebody is to be notified
    GRANT EXECUTE ON FUNCTION
        pawl.clock, pawl.now, pawl.wake, pawl.new_message_id, pawl.enqueue_rows, pawl.enqueue_plain, pawl.enqueue_batch,
        pawl.enqueue(text, text, uuid, timestamptz, interval, integer, text, text, json, text,
                     timestamptz, integer, interval, interval, interval, interval, interval, interval),
        pawl.enqueue(text, bytea, uuid, timestamptz, interval, integer, text, text, json, text,
                     timestamptz, integer, interval, interval, interval, interval, interval, interval),
        pawl.enqueue(text, jsonb, uuid, timestamptz, interval, integer, text, text, json, text,
                     timestamptz, integer, interval, interval, interval, interval, interval, interval),
        pawl.schedule(text, text, timestamptz, interval, uuid, integer, text, text, json),
        pawl.schedule(text, bytea, timestamptz, interval, uuid, integer, text, text, json),
        pawl.schedule(text, jsonb, timestamptz, interval, uuid, integer, text, text, json)
        TO pawl_send, pawl_work;

    -- Working: claim, the five answers, housekeeping.
    GRANT SELECT, DELETE ON pawl.body TO pawl_work;
    GRANT SELECT, UPDATE, DELETE ON pawl.queue TO pawl_work;
    GRANT SELECT, INSERT, UPDATE, DELETE ON pawl.claim, pawl.outcome TO pawl_work;
    GRANT SELECT, INSERT, UPDATE ON pawl.tally TO pawl_work;
    GRANT SELECT, INSERT, UPDATE, DELETE ON pawl.tally_delta TO pawl_work;
    GRANT INSERT, UPDATE, DELETE ON pawl.sleeper TO pawl_work;
    GRANT SELECT, INSERT, UPDATE, DELETE ON pawl.topic, pawl.dead TO pawl_work;
    GRANT UPDATE ON pawl.lane TO pawl_work;
    GRANT SELECT, INSERT, UPDATE, DELETE ON pawl.lease TO pawl_work;
    GRANT SELECT ON pawl.message, pawl.timer TO pawl_work;
    GRANT USAGE ON SEQUENCE pawl.fence TO pawl_work;
    GRANT EXECUTE ON FUNCTION
        pawl.claim, pawl.ack_and_claim, pawl.claim_batch, pawl.held, pawl.ack, pawl.ack_output, pawl.fail, pawl.abandon, pawl.renew, pawl.release,
        pawl.progress, pawl.topic_paused, pawl.settle_lanes, pawl.topic_pause, pawl.topic_resume, pawl.topic_dead, pawl.topic_list,
        pawl.dead_claim, pawl.dead_done, pawl.dead_retry, pawl.dead_renew,
        pawl.reap, pawl.reap_batch, pawl.expire, pawl.retain, pawl.fold,
        pawl.sleep, pawl.awake, pawl.settled, pawl.next_due, pawl.destinations,
        pawl.find, pawl.timer_pending, pawl.timer_count, pawl.pending, pawl.unschedule
        TO pawl_work;
    -- Leases; lease_force() is the administrator's.
    GRANT EXECUTE ON FUNCTION
        pawl.lease_get, pawl.lease_list, pawl.lease_check, pawl.lease_acquire, pawl.lease_renew,
        pawl.lease_release, pawl.lease_is_held, pawl.lease_guard, pawl.lease_clean
        TO pawl_work;

    -- Receiving. What is dead is the administrator's.
    GRANT SELECT, INSERT, UPDATE, DELETE ON pawl.inbox_record TO pawl_work;
    GRANT SELECT ON pawl.inbox TO pawl_work;
    GRANT EXECUTE ON FUNCTION
        pawl.inbox_lock, pawl.inbox_check, pawl.inbox_begin, pawl.inbox_hold, pawl.inbox_finish, pawl.inbox_done,
        pawl.inbox_fail, pawl.inbox_give_up, pawl.inbox_renew, pawl.inbox_seen, pawl.inbox_get, pawl.inbox_list,
        pawl.inbox_clean, pawl.inbox_stats
        TO pawl_work;

    -- Jobs: scheduling them, and their history, which follows the answers to a claim.
    GRANT SELECT, INSERT, UPDATE, DELETE ON pawl.job, pawl.job_run TO pawl_work;
    GRANT SELECT ON pawl.jobs, pawl.job_runs, pawl.job_status TO pawl_work;
    GRANT EXECUTE ON FUNCTION
        pawl.job_by_hand, pawl.queue_run_held, pawl.queue_run_ended, pawl.job_due, pawl.job_start, pawl.job_advance,
        pawl.job_clean, pawl.job_switch, pawl.job_missing, pawl.job_enable, pawl.job_disable, pawl.job_fire,
        pawl.job_trigger, pawl.job_remove, pawl.job_delete, pawl.job_get, pawl.job_list, pawl.job_run_list,
        pawl.job_run_get,
        pawl.job_put(text, text, text, bytea, text, text, json, text, bigint, text, bigint, interval, interval,
                     interval, text, bigint, interval, text, interval, interval, interval, interval, interval,
                     bigint, interval, boolean),
        pawl.job_put(text, text, text, text, text, text, json, text, bigint, text, bigint, interval, interval,
                     interval, text, bigint, interval, text, interval, interval, interval, interval, interval,
                     bigint, interval, boolean)
        TO pawl_work;

    GRANT ALL ON ALL TABLES IN SCHEMA pawl TO pawl_admin;
    GRANT ALL ON ALL SEQUENCES IN SCHEMA pawl TO pawl_admin;
    GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pawl TO pawl_admin;
END
$$;

-- The triggers of the job history. Creating a trigger locks its table, so an existing one stays. A release that
-- changes a trigger drops the old one in a migration.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = 'pawl.job'::regclass AND t.tgname = 'job_changed_by_user') THEN
        CREATE TRIGGER job_changed_by_user BEFORE UPDATE OF schedule, zone, enabled, jitter ON pawl.job
        FOR EACH ROW WHEN (NEW.version = OLD.version) EXECUTE FUNCTION pawl.job_changed_by_user();
    END IF;
    IF NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = 'pawl.job'::regclass AND t.tgname = 'job_corrected') THEN
        CREATE TRIGGER job_corrected
        BEFORE UPDATE OF name, topic, payload, type, destination, headers, correlation_id, priority, max_attempts,
                         retry_base, retry_max, retry_jitter, ttl, timeout, lease, heartbeat ON pawl.job
        FOR EACH ROW WHEN (NEW.version = OLD.version AND OLD.problem IS NOT NULL)
        EXECUTE FUNCTION pawl.job_corrected();
    END IF;
    IF NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = 'pawl.queue'::regclass AND t.tgname = 'queue_run_held') THEN
        CREATE TRIGGER queue_run_held AFTER UPDATE OF fence ON pawl.queue
        FOR EACH ROW WHEN (NEW.run_id IS NOT NULL AND NEW.fence <> OLD.fence)
        EXECUTE FUNCTION pawl.queue_run_held();
    END IF;
    IF NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = 'pawl.queue'::regclass AND t.tgname = 'queue_run_ended') THEN
        CREATE TRIGGER queue_run_ended AFTER DELETE ON pawl.queue
        FOR EACH ROW WHEN (OLD.run_id IS NOT NULL) EXECUTE FUNCTION pawl.queue_run_ended();
    END IF;
END
$$;

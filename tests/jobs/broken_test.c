/* tests/jobs/broken_test.c - what is broken on purpose must be found, or the months prove nothing.
 */
#include "campaign.h"
#include "queue_fixture.h"
#include "simulation.h"
#include "test.h"

#define MONTHS 6
#define MEAN_STEP_MS (90 * MINUTE_MS)

/* The right store, with something in the database that undoes a part of its work. */
typedef struct broken_store {
    const char *what;
    const char *sqlite; /* NULL: it cannot be */
    const char *postgres;
} broken_store;

#define SQLITE_TRIGGER(when, body) "CREATE TRIGGER {zz_broken} AFTER " when " BEGIN " body "; END;"
#define POSTGRES_TRIGGER(when, body)                                                               \
    "CREATE FUNCTION {broken}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " body                \
    " END $$; CREATE TRIGGER zz_broken " when " FOR EACH ROW EXECUTE FUNCTION {broken}();"
/* The version stays: what was decided is written, whatever has happened since it was read. */
#define SQLITE_NO_VERSION                                                                          \
    SQLITE_TRIGGER("UPDATE OF version ON {job}", "UPDATE {job} SET version = 0 WHERE id = new.id")
#define POSTGRES_NO_VERSION                                                                        \
    POSTGRES_TRIGGER("BEFORE UPDATE ON {job}", "NEW.version := 0; RETURN NEW;")

static const broken_store broken_stores[] = {
    {"a scheduler does not look whether the job has changed", SQLITE_NO_VERSION,
     POSTGRES_NO_VERSION},
    {"the same, and an occurrence may be recorded twice",
     SQLITE_NO_VERSION "DROP INDEX {job_run_occurrence}",
     /* The statement needs the index: whoever is in the way leaves it. */
     POSTGRES_NO_VERSION
     "CREATE FUNCTION {leave}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
     " UPDATE {job_run} SET triggered = true WHERE job_id = NEW.job_id"
     " AND scheduled_at = NEW.scheduled_at AND NOT triggered; RETURN NEW; END $$;"
     "CREATE TRIGGER zz_leave BEFORE INSERT ON {job_run} FOR EACH ROW EXECUTE FUNCTION {leave}();"},
    {"the last occurrence is not kept",
     SQLITE_TRIGGER("UPDATE OF last_occurrence_at ON {job} WHEN new.last_occurrence_at IS NOT NULL",
                    "UPDATE {job} SET last_occurrence_at = NULL WHERE id = new.id"),
     POSTGRES_TRIGGER("BEFORE UPDATE ON {job}", "NEW.last_occurrence_at := NULL; RETURN NEW;")},
    {"what is skipped is not recorded",
     SQLITE_TRIGGER("INSERT ON {job_run} WHEN new.state = 7",
                    "DELETE FROM {job_run} WHERE id = new.id"),
     POSTGRES_TRIGGER("AFTER INSERT ON {job_run}",
                      "DELETE FROM {job_run} WHERE id = NEW.id AND state = 7; RETURN NULL;")},
    {"who waits in line does not start",
     SQLITE_TRIGGER("UPDATE OF pending_events ON {job_run} WHEN new.pending_events > 0",
                    "UPDATE {job_run} SET pending_events = 0 WHERE id = new.id"),
     POSTGRES_TRIGGER("BEFORE UPDATE ON {job_run}", "NEW.pending_events := 0; RETURN NEW;")},
    {"a job is looked at too late",
     SQLITE_TRIGGER("UPDATE OF next_check_at ON {job} WHEN new.next_check_at > 0"
                    " AND new.next_check_at < 9000000000000000000",
                    "UPDATE {job} SET next_check_at = next_check_at + 1 WHERE id = new.id"),
     POSTGRES_TRIGGER(
         "BEFORE UPDATE ON {job}",
         "NEW.next_check_at := NEW.next_check_at + interval '1 microsecond'; RETURN NEW;")},
    /* SQLite's clock does not go back. */
    {"a job does not come back when the clock was set back", NULL,
     POSTGRES_TRIGGER("BEFORE UPDATE ON {job}", "NEW.planned_at := 'epoch'; RETURN NEW;")},
    {"what has run is forgotten when the clock was set back", NULL,
     POSTGRES_TRIGGER("AFTER UPDATE ON {job}",
                      "IF NEW.planned_at < OLD.planned_at THEN DELETE FROM {job_run}"
                      " WHERE job_id = NEW.id AND scheduled_at > NEW.planned_at"
                      " AND state NOT IN (0, 1, 6); END IF; RETURN NULL;")},
};

PAWL_TEST(every_broken_store_is_found)
{
    for (size_t i = 0; i < COUNT_OF(broken_stores); i++) {
        const broken_store *how = &broken_stores[i];
        const char *sql = test_on_postgres() ? how->postgres : how->sqlite;

        if (!sql)
            continue;
        campaign c = {.play = simulate_month,
                      .context = simulation_months_new(MEAN_STEP_MS, sql),
                      .first_seed = 1,
                      .count = MONTHS};
        campaign_expect_finding(&c, how->what);
    }
}

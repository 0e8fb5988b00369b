/* tests/cut/steps.c - one life: every kind of call, on nine messages and two jobs. */
#include "steps.h"

#include <libpq-fe.h>
#include <string.h>

#define OWNER kit_owner(1)

static const char *const digits[MESSAGES] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};

pawl_outgoing steps_message(int number)
{
    pawl_outgoing m = kit_message("life", digits[number]);

    m.id = kit_id(number);
    m.correlation_id = digits[number];
    if (number == 6)
        m.max_attempts = 1;
    return m;
}

void steps_clean(world *w)
{
    fixture_exec(w->f, "DELETE FROM {body}; DELETE FROM {queue}; DELETE FROM {outcome};"
                       "DELETE FROM {claim}; DELETE FROM {orders}; DELETE FROM {lease};"
                       "DELETE FROM {tally}; DELETE FROM {tally_delta};"
                       "DELETE FROM {inbox_record}; DELETE FROM {job}; DELETE FROM {job_run};"
                       "DELETE FROM {lane} WHERE topic = 'job';"
                       "DELETE FROM {lane_use} WHERE lane_id NOT IN (SELECT id FROM {lane})");
    fixture_set(w->f, FIXTURE_START);
    memset(w->held, 0, sizeof w->held);
}

void steps_close(world *w)
{
    PQfinish(w->client);
    w->client = NULL;
    pawl_arrival_free(w->call);
    w->call = NULL;
    pawl_store_close(w->store);
    w->store = NULL;
}

static void remember(world *w, const pawl_messages *list)
{
    for (size_t i = 0; i < pawl_messages_count(list); i++) {
        const pawl_message *m = pawl_messages_at(list, i);
        int number = pawl_message_correlation_id(m)[0] - '0';
        w->held[number] = (pawl_held){pawl_message_work_id(m), pawl_message_fence(m)};
    }
}

static pawl_status claim(world *w, int64_t lease_ms, int limit, size_t *ret_changed,
                         pawl_error *err)
{
    pawl_messages *list = NULL;
    pawl_status st = pawl_queue_claim(w->store, OWNER, lease_ms, limit, NULL, &list, err);

    if (st == PAWL_OK) {
        remember(w, list);
        *ret_changed = pawl_messages_count(list);
    }
    pawl_messages_free(list);
    return st;
}

pawl_status step_learn_held(world *w, size_t *ret_held, pawl_error *err)
{
    pawl_messages *list = NULL;
    pawl_status st = pawl_queue_held(w->store, OWNER, &list, err);

    if (st == PAWL_OK) {
        remember(w, list);
        *ret_held = pawl_messages_count(list);
    }
    pawl_messages_free(list);
    return st;
}

static pawl_status claim_four(world *w, size_t *ret_changed, pawl_error *err)
{
    return claim(w, MINUTE_MS, 4, ret_changed, err);
}

/* Whoever does not know what it was given asks; only if that is nothing it claims again. */
static pawl_status resolve_claim_four(world *w, size_t *ret_changed, pawl_error *err)
{
    size_t held = 0;
    pawl_status st = step_learn_held(w, &held, err);

    return st == PAWL_OK && held == 0 ? claim_four(w, ret_changed, err) : st;
}

static pawl_status claim_rest(world *w, size_t *ret_changed, pawl_error *err)
{
    return claim(w, SECOND_MS, 10, ret_changed, err);
}

static pawl_status resolve_claim_rest(world *w, size_t *ret_changed, pawl_error *err)
{
    size_t held = 0;
    pawl_status st = step_learn_held(w, &held, err);

    return st == PAWL_OK && held == 0 ? claim_rest(w, ret_changed, err) : st;
}

static pawl_status renew(world *w, size_t *ret_changed, pawl_error *err)
{
    return pawl_queue_renew(w->store, OWNER, &w->held[1], 4, 2 * MINUTE_MS, ret_changed, err);
}

static pawl_status ack(world *w, size_t *ret_changed, pawl_error *err)
{
    return pawl_queue_ack(w->store, OWNER, &w->held[1], 1, ret_changed, err);
}

/* Ends message 4, begins with 5. */
static pawl_status ack_and_claim(world *w, size_t *ret_changed, pawl_error *err)
{
    pawl_messages *list = NULL;
    size_t acked = 0;
    pawl_status st = pawl_queue_ack_and_claim(w->store, OWNER, &w->held[4], 1, MINUTE_MS, 1, NULL,
                                              &acked, &list, err);

    if (st == PAWL_OK) {
        remember(w, list);
        *ret_changed = acked + pawl_messages_count(list);
    }
    pawl_messages_free(list);
    return st;
}

/* Both were done or neither: what is still held says which. */
static pawl_status resolve_ack_and_claim(world *w, size_t *ret_changed, pawl_error *err)
{
    size_t held = 0;
    pawl_status st;

    w->held[5] = (pawl_held){{0}, 0};
    st = step_learn_held(w, &held, err);
    return st == PAWL_OK && w->held[5].fence == 0 ? ack_and_claim(w, ret_changed, err) : st;
}

static pawl_status abandon(world *w, size_t *ret_changed, pawl_error *err)
{
    return pawl_queue_abandon(w->store, OWNER, &w->held[2], 1, "not now", 5000, ret_changed, err);
}

static pawl_status fail_one(world *w, size_t *ret_changed, pawl_error *err)
{
    return pawl_queue_fail(w->store, OWNER, &w->held[3], 1, "never", ret_changed, err);
}

static pawl_status release(world *w, size_t *ret_changed, pawl_error *err)
{
    return pawl_queue_release(w->store, OWNER, &w->held[5], 1, ret_changed, err);
}

static pawl_status reap(world *w, size_t *ret_changed, pawl_error *err)
{
    return pawl_queue_reap(w->store, ret_changed, NULL, err);
}

static pawl_status retain(world *w, size_t *ret_changed, pawl_error *err)
{
    return pawl_queue_retain(w->store, 0, ret_changed, NULL, err);
}

/* By number: the work id of a message that nobody holds is read from outside. */
static pawl_work_id id_of(world *w, int number)
{
    return (pawl_work_id){
        fixture_count(w->f, "SELECT id FROM {message} WHERE correlation_id = '%d'", number)};
}

static void learn_ids(world *w)
{
    w->held[5].id = id_of(w, 5);
    w->held[3].id = id_of(w, 3);
}

static pawl_status cancel(world *w, size_t *ret_changed, pawl_error *err)
{
    return pawl_outbox_cancel(w->store, &w->held[5].id, 1, ret_changed, err);
}

static pawl_status redrive(world *w, size_t *ret_changed, pawl_error *err)
{
    return pawl_outbox_redrive(w->store, &w->held[3].id, 1, ret_changed, err);
}

static void after_the_lease(world *w)
{
    fixture_set(w->f, (pawl_wall){FIXTURE_START.us + 2 * 1000000});
}

static void later(world *w)
{
    fixture_set(w->f, (pawl_wall){FIXTURE_START.us + 3600 * INT64_C(1000000)});
}

#define COUNT_WHERE(condition) "SELECT count(*) FROM {message} WHERE " condition
#define IS(number, rest) COUNT_WHERE("correlation_id = '" number "' AND " rest)

/* Slots that were recorded, and the messages of those that run. */
#define RUNS_AND_MESSAGES                                                                          \
    "SELECT (SELECT count(*) FROM {job_run}) +"                                                    \
    " (SELECT count(*) FROM {body} WHERE run_id IS NOT NULL)"

const step steps[] = {
    {"open", STEP_READS, NULL, step_open, NULL, NULL, 0, false},
    {"enqueue", STEP_RESOLVES, NULL, step_send, NULL, IS("1", "state = 0"), 1, false},
    {"enqueue batch", STEP_RESOLVES, NULL, step_send_batch, NULL,
     COUNT_WHERE("correlation_id IN ('2', '3', '4', '5', '6')"), 5, false},
    {"same id again", STEP_RESOLVES, NULL, step_send_again, NULL,
     "SELECT count(*) - 6 FROM {message}", 0, false},
    {"wrapped enqueue", STEP_WRITES, NULL, step_send_wrapped, step_resolve_wrapped,
     "SELECT (SELECT count(*) FROM {orders}) +"
     " (SELECT count(*) FROM {message} WHERE correlation_id = '7')",
     2, false},
    {"wrapped and undone", STEP_READS, NULL, step_send_undone, NULL,
     "SELECT (SELECT count(*) FROM {orders}) - 1 +"
     " (SELECT count(*) FROM {message} WHERE correlation_id = '8')",
     0, false},
    {"claim", STEP_WRITES, NULL, claim_four, resolve_claim_four, COUNT_WHERE("state = 1"), 4,
     false},
    {"renew", STEP_WRITES, NULL, renew, NULL,
     COUNT_WHERE("{us:lease_until} = {us:created_at} + 120000000"), 4, true},
    {"ack", STEP_WRITES, NULL, ack, NULL, IS("1", "state = 2"), 1, false},
    {"abandon", STEP_WRITES, NULL, abandon, NULL, IS("2", "state = 0 AND retries = 1"), 1, false},
    {"fail", STEP_WRITES, NULL, fail_one, NULL, IS("3", "state = 3"), 1, false},
    {"ack and claim", STEP_WRITES, NULL, ack_and_claim, resolve_ack_and_claim,
     COUNT_WHERE("(correlation_id = '4' AND state = 2) OR (correlation_id = '5' AND state = 1)"), 2,
     false},
    {"release", STEP_WRITES, NULL, release, NULL, IS("5", "state = 0 AND retries = 0"), 1, false},
    {"cancel", STEP_WRITES, learn_ids, cancel, NULL, IS("5", "state = 5"), 1, false},
    {"claim again", STEP_WRITES, NULL, claim_rest, resolve_claim_rest, COUNT_WHERE("state = 1"), 2,
     false},
    {"look", STEP_READS, NULL, step_look, NULL, NULL, 0, false},
    {"take a lease", STEP_WRITES, NULL, step_lease_take, NULL,
     "SELECT count(*) FROM {lease} WHERE released_at IS NULL", 1, true},
    {"renew a lease", STEP_WRITES, NULL, step_lease_renew, NULL,
     "SELECT count(*) FROM {lease} WHERE {us:expires_at} = {us:taken_at} + 120000000", 1, true},
    {"guard", STEP_READS, NULL, step_lease_guard, NULL, NULL, 0, false},
    {"release a lease", STEP_WRITES, NULL, step_lease_release, NULL,
     "SELECT count(*) FROM {lease} WHERE released_at IS NOT NULL", 1, false},
    {"reap", STEP_WRITES, after_the_lease, reap, NULL,
     COUNT_WHERE("(correlation_id = '6' AND state = 3) OR"
                 " (correlation_id = '7' AND state = 0 AND retries = 1)"),
     2, false},
    {"redrive", STEP_WRITES, NULL, redrive, NULL, IS("3", "state = 0 AND retries = 0"), 1, false},
    {"list", STEP_READS, NULL, step_list, NULL, NULL, 0, false},
    {"stats", STEP_READS, NULL, step_stats, NULL, NULL, 0, false},
    {"schedule", STEP_RESOLVES, NULL, step_schedule, NULL,
     IS("9", "state = 0 AND {us:next_attempt_at} = {us:created_at} + 86400000000"), 1, false},
    {"unschedule", STEP_WRITES, NULL, step_unschedule, NULL, IS("9", "state = 5"), 1, false},
    {"retain", STEP_WRITES, later, retain, NULL,
     "SELECT 4 - count(*) FROM {body} WHERE correlation_id IN ('1', '4', '5', '9')", 4, false},
    {"receive", STEP_WRITES, NULL, step_receive, NULL,
     "SELECT (SELECT count(*) FROM {message} WHERE correlation_id = '9') +"
     " (SELECT count(*) FROM {inbox_record} WHERE id = 'atomic' AND state = 2)",
     2, false},
    {"call", STEP_WRITES, NULL, step_call, NULL,
     "SELECT count(*) FROM {inbox_record} WHERE id = 'call' AND state = 1", 1, true},
    {"call done", STEP_WRITES, NULL, step_call_done, NULL,
     "SELECT count(*) FROM {inbox_record} WHERE id = 'call' AND state = 2", 1, false},
    {"call again", STEP_WRITES, NULL, step_call_again, NULL, NULL, 0, false},
    {"put a job", STEP_WRITES, NULL, step_job_put, NULL, "SELECT count(*) FROM {job}", 1, false},
    {"put another job", STEP_WRITES, NULL, step_job_put_another, NULL,
     "SELECT count(*) FROM {job} WHERE name = 'last'", 1, false},
    {"tick", STEP_WRITES, step_job_three_minutes, step_job_tick, NULL, RUNS_AND_MESSAGES, 2 * 4 + 1,
     false}, /* three and one run, one misfire */
    {"tick again", STEP_WRITES, step_job_three_minutes, step_job_tick, NULL,
     RUNS_AND_MESSAGES " - 9", 2 * 3 + 2, false}, /* three runs, one misfire, one overlap */
    {"trigger", STEP_WRITES, NULL, step_job_trigger, step_job_resolve_trigger,
     "SELECT count(*) FROM {job_run} WHERE triggered", 1, false},
    {"claim a run", STEP_WRITES, NULL, step_job_claim, step_job_resolve_claim,
     "SELECT count(*) FROM {job_run} WHERE state = 1", 1, false},
    {"ack a run", STEP_WRITES, NULL, step_job_ack, NULL,
     "SELECT count(*) FROM {job_run} WHERE state = 2", 1, false},
    {"disable a job", STEP_WRITES, NULL, step_job_disable, NULL,
     "SELECT count(*) FROM {job} WHERE NOT enabled", 1, false},
    {"delete a job", STEP_WRITES, NULL, step_job_delete, NULL, "SELECT 2 - count(*) FROM {job}", 1,
     false},
    {NULL, STEP_READS, NULL, NULL, NULL, NULL, 0, false},
};

const char steps_end[] = "2:0/1 3:0/0 6:3/1 7:0/1 9:0/0";

/* tests/fault/fault_queue.c - messages, a lease, topics and dead letters, from the first call to
 * the last.
 */
#include "fault_run.h"

#if PAWL_TEST_SQLITE
#include <sqlite3.h>
#endif
#if PAWL_TEST_POSTGRES
#include <libpq-fe.h>
#endif

/* ---- the application's transaction ---- */

/* Whether the application's transaction is open and can be committed. */
static bool tx_alive(scenario *s)
{
#if PAWL_TEST_SQLITE
    if (!fixture_is_postgres(s->f))
        return !sqlite3_get_autocommit(fixture_sqlite(s->f, 0));
#endif
#if PAWL_TEST_POSTGRES
    if (fixture_is_postgres(s->f))
        return PQstatus(fixture_postgres(s->f, 0)) == CONNECTION_OK &&
               PQtransactionStatus(fixture_postgres(s->f, 0)) == PQTRANS_INTRANS;
#endif
    return false;
}

/* Whatever state the fault left the application's own connection in. */
static void roll_back(scenario *s)
{
#if PAWL_TEST_SQLITE
    if (!fixture_is_postgres(s->f))
        sqlite3_exec(fixture_sqlite(s->f, 0), "ROLLBACK", NULL, NULL, NULL);
#endif
#if PAWL_TEST_POSTGRES
    if (fixture_is_postgres(s->f))
        PQreset(fixture_postgres(s->f, 0));
#endif
}

static void begin_transaction(scenario *s)
{
    fixture_tx_exec(s->f, 0, fixture_is_postgres(s->f) ? "BEGIN" : "BEGIN IMMEDIATE");
    fixture_tx_exec(s->f, 0, "INSERT INTO {orders} VALUES (1)");
}

static pawl_status send_wrapped(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_message_spec one = scenario_message(7);
    pawl_status st;

    (void)ret_changed;
    if (fixture_is_postgres(s->f))
        st = pawl_tx_foreign_postgres(s->store, fixture_postgres(s->f, 0), &s->tx, err);
    else
        st = pawl_tx_foreign_sqlite(s->store, fixture_sqlite(s->f, 0), &s->tx, err);
    return st == PAWL_OK ? pawl_tx_enqueue(s->tx, &one, NULL, err) : st;
}

/*
 * The application commits whatever pawl answered: a failed call left the transaction as it was.
 * Unless it has to start again, the engine ended the transaction, or the connection was cut;
 * then nothing of it can be there.
 */
static pawl_status commit_transaction(scenario *s, pawl_status st)
{
    int64_t orders = fixture_count(s->f, "SELECT count(*) FROM {orders}");
    bool cut = fixture_is_postgres(s->f) && s->faulted && failing_cuts();
    bool alive = !cut && tx_alive(s);

    pawl_tx_free(s->tx);
    s->tx = NULL;
    if (st == PAWL_OK && !alive && !cut)
        test_fail("a wrapped send answered PAWL_OK in a transaction that is gone");
    if (!alive || st == PAWL_E_TX_RESTART) {
        roll_back(s);
        return st == PAWL_OK ? PAWL_E_UNAVAILABLE : st;
    }
    fixture_tx_exec(s->f, 0, "COMMIT");
    assert_int_equal(orders + 1, fixture_count(s->f, "SELECT count(*) FROM {orders}"));
    return st;
}

/* ---- calls around the queue ---- */

static pawl_status send_one(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_message_spec one = scenario_message(1);

    (void)ret_changed;
    return pawl_outbox_enqueue(s->store, &one, NULL, err);
}

static pawl_message_spec effect_message(const char *number)
{
    pawl_message_spec m = queue_message("effect", number);

    m.id = queue_id(number[0]);
    m.correlation_id = number;
    return m;
}

static pawl_status send_for_effect(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_message_spec one = effect_message("8");

    (void)ret_changed;
    return pawl_outbox_enqueue(s->store, &one, NULL, err);
}

static pawl_status claim_for_effect(scenario *s, size_t *ret_changed, pawl_error *err)
{
    static const char *const topic = "effect";
    pawl_claim_options only = PAWL_CLAIM_OPTIONS_INIT;
    pawl_messages *list = NULL;

    (void)ret_changed;
    only.topics = &topic;
    only.topic_count = 1;
    pawl_status st = pawl_queue_claim(s->store, queue_owner(1), HOUR_MS, 1, &only, &list, err);
    pawl_messages_free(list);
    return st;
}

static pawl_status commit_effect_once(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_message_spec next = effect_message("9");
    pawl_status st = pawl_tx_begin_for(s->store, queue_owner(1), s->owned[8], &s->tx, err);

    (void)ret_changed;
    next.delay_ms = 100 * DAY_MS;
    if (st == PAWL_OK)
        st = scenario_lease_guard(s, s->tx, err);
    if (st == PAWL_OK)
        st = fault_write_row(s, s->tx, 8, err);
    if (st == PAWL_OK)
        st = pawl_tx_enqueue(s->tx, &next, NULL, err);
    if (st == PAWL_OK)
        st = pawl_tx_commit_with_ack(s->tx, err);
    pawl_tx_free(s->tx);
    s->tx = NULL;
    return st;
}

static pawl_status report_progress(scenario *s, size_t *ret_changed, pawl_error *err)
{
    (void)ret_changed;
    return pawl_queue_progress(s->store, queue_owner(1), s->owned[2], "half", err);
}

static pawl_status pause_topic(scenario *s, size_t *ret_changed, pawl_error *err)
{
    (void)ret_changed;
    return pawl_topic_pause(s->store, "effect", NULL, err);
}

static pawl_status resume_topic(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_topics *topics = NULL;
    pawl_status st = pawl_topic_list(s->store, &topics, err);

    (void)ret_changed;
    pawl_topics_free(topics);
    return st == PAWL_OK ? pawl_topic_resume(s->store, "effect", NULL, err) : st;
}

static pawl_status keep_dead_letters(scenario *s, size_t *ret_changed, pawl_error *err)
{
    (void)ret_changed;
    return pawl_topic_dead_letters(s->store, "life", true, err);
}

static pawl_status claim_dead_letters(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_messages *list = NULL;
    pawl_status st = pawl_dead_claim(s->store, queue_owner(1), HOUR_MS, 10, NULL, &list, err);

    (void)ret_changed;
    pawl_messages_free(list);
    return st;
}

static void learn_dead_fence(scenario *s)
{
    s->dead_fence = fixture_count(s->f, "SELECT max(fence) FROM {dead}");
}

static pawl_status end_dead_letter(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_receipt item = {s->owned[6].id, s->dead_fence};

    (void)ret_changed;
    return pawl_dead_done(s->store, queue_owner(1), &item, 1, NULL, err);
}

static pawl_status retry_dead_letter(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_receipt item = {s->owned[4].id, s->dead_fence};

    (void)ret_changed;
    return pawl_dead_abandon(s->store, queue_owner(1), &item, 1, "again", PAWL_DELAY_BY_POLICY,
                             NULL, err);
}

/* The same owner every time: what a failed stop left is extended. */
static pawl_status run_lease(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_lease_runner_options options = PAWL_LEASE_RUNNER_OPTIONS_INIT;
    pawl_lease_runner *runner = NULL;
    pawl_leases *list = NULL;

    (void)ret_changed;
    options.by_steps = true;
    options.owner = queue_owner(1);
    options.owner_name = "runner";
    pawl_status st = pawl_lease_runner_start(s->store, "run", &options, &runner, err);
    if (st == PAWL_OK)
        st = pawl_lease_runner_renew_now(runner, err);
    if (st == PAWL_OK)
        st = pawl_lease_list(s->store, NULL, &list, NULL, err);
    if (st == PAWL_OK && pawl_leases_count(list) != 2)
        test_fail("%zu of 2 leases are listed", pawl_leases_count(list));
    if (st == PAWL_OK)
        st = pawl_lease_runner_stop(runner, err);
    pawl_leases_free(list);
    pawl_lease_runner_free(runner);
    return st;
}

static void after_the_time_to_live(scenario *s)
{
    fixture_set(s->f, (pawl_wall){FIXTURE_START.us + 2000 * INT64_C(1000000)});
}

static pawl_status read_messages(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_messages *list = NULL;
    pawl_outbox_stats *stats = NULL;
    pawl_outbox_filter filter = PAWL_OUTBOX_FILTER_INIT;
    pawl_wall now;
    pawl_status st = pawl_store_now(s->store, &now, err);

    (void)ret_changed;
    filter.with_payload = true;
    if (st == PAWL_OK)
        st = pawl_outbox_list(s->store, &filter, &list, NULL, err);
    pawl_messages_free(list);
    list = NULL;
    if (st == PAWL_OK)
        st = pawl_outbox_get(s->store, s->owned[2].id, &list, err);
    pawl_messages_free(list);
    list = NULL;
    if (st == PAWL_OK)
        st = pawl_outbox_find(s->store, queue_id(3), &list, err);
    pawl_messages_free(list);
    list = NULL;
    if (st == PAWL_OK)
        st = pawl_queue_owned(s->store, queue_owner(1), &list, err);
    pawl_messages_free(list);
    if (st == PAWL_OK)
        st = pawl_outbox_get_stats(s->store, &stats, err);
    pawl_outbox_stats_free(stats);
    return st;
}

#define COUNT_WHERE(condition) "SELECT count(*) FROM {message} WHERE " condition
#define IS(number, rest) COUNT_WHERE("correlation_id = '" number "' AND " rest)

/* Message n is the one whose correlation id is n. */
static const scenario_step steps[] = {
    {"open", SCENARIO_READS, NULL, scenario_open, NULL, 0},
    {"enqueue", SCENARIO_WRITES, NULL, send_one, IS("1", "state = 0"), 1},
    {"enqueue batch", SCENARIO_WRITES, NULL, scenario_send_batch,
     COUNT_WHERE("correlation_id IN ('2', '3', '4', '5', '6')"), 5},
    {"wrapped enqueue", SCENARIO_WRITES, begin_transaction, send_wrapped, IS("7", "state = 0"), 1,
     .finish = commit_transaction},
    {"take a lease", SCENARIO_WRITES, NULL, scenario_lease_take,
     "SELECT count(*) FROM {lease} WHERE released_at IS NULL", 1},
    {"renew a lease", SCENARIO_WRITES, scenario_learn_lease, scenario_lease_renew,
     "SELECT count(*) FROM {lease} WHERE {us:expires_at} = {us:taken_at} + 120000000", 1},
    {"send for effect", SCENARIO_WRITES, NULL, send_for_effect, IS("8", "state = 0"), 1},
    {"claim for effect", SCENARIO_WRITES, NULL, claim_for_effect, IS("8", "state = 1"), 1},
    {"effect once", SCENARIO_WRITES, scenario_learn_messages, commit_effect_once,
     "SELECT (SELECT count(*) FROM {outcome}) + (SELECT count(*) FROM {orders} WHERE n = 8)"
     " + (SELECT count(*) FROM {queue} q JOIN {body} b ON b.id = q.id"
     " WHERE b.correlation_id = '9')",
     3},
    {"release a lease", SCENARIO_WRITES, NULL, scenario_lease_release,
     "SELECT count(*) FROM {lease} WHERE released_at IS NOT NULL", 1},
    {"run a lease", SCENARIO_READS, NULL, run_lease, NULL, 0},
    {"pause", SCENARIO_WRITES, NULL, pause_topic,
     "SELECT count(*) FROM {topic} WHERE paused_at IS NOT NULL", 1},
    {"resume", SCENARIO_WRITES, NULL, resume_topic,
     "SELECT 1 - count(*) FROM {topic} WHERE paused_at IS NOT NULL", 1},
    {"dead letters on", SCENARIO_WRITES, NULL, keep_dead_letters,
     "SELECT count(*) FROM {topic} WHERE dead", 1},
    {"claim", SCENARIO_WRITES, NULL, scenario_claim_four, COUNT_WHERE("state = 1"), 4},
    {"renew", SCENARIO_WRITES, scenario_learn_messages, NULL,
     COUNT_WHERE("{us:lease_until} = {us:created_at} + 120000000"), 4,
     .operation = {OPERATION_RENEW, 1, 4, 2 * MINUTE_MS}},
    {"progress", SCENARIO_WRITES, NULL, report_progress, IS("2", "progress = 'half'"), 1},
    {"ack", SCENARIO_WRITES, NULL, NULL, IS("1", "state = 2"), 1,
     .operation = {OPERATION_ACK, 1, 1, 0}},
    {"abandon", SCENARIO_WRITES, NULL, NULL, IS("2", "state IN (0, 6) AND retries = 1"), 1,
     .operation = {OPERATION_ABANDON, 2, 1, 5000}},
    {"fail", SCENARIO_WRITES, NULL, NULL, IS("3", "state = 3"), 1,
     .operation = {OPERATION_FAIL, 3, 1, 0}},
    {"release", SCENARIO_WRITES, NULL, NULL, IS("4", "state = 0"), 1,
     .operation = {OPERATION_RELEASE, 4, 1, 0}},
    {"cancel", SCENARIO_WRITES, NULL, NULL, IS("5", "state = 5"), 1,
     .operation = {OPERATION_CANCEL, 5, 1, 0}},
    {"claim again", SCENARIO_WRITES, NULL, scenario_claim_rest, COUNT_WHERE("state = 1"), 3},
    {"reap", SCENARIO_WRITES, scenario_after_the_lease, NULL,
     COUNT_WHERE("(correlation_id = '6' AND state = 3) OR"
                 " (correlation_id IN ('4', '7') AND state IN (0, 6) AND retries = 1)"),
     3, .operation = {OPERATION_REAP, 0, 0, 0}},
    {"expire", SCENARIO_WRITES, after_the_time_to_live, NULL,
     IS("4", "state = 4 AND finished_at IS NOT NULL"), 1, .operation = {OPERATION_EXPIRE, 0, 0, 0}},
    {"claim of dead letters", SCENARIO_WRITES, NULL, claim_dead_letters,
     "SELECT count(*) FROM {dead} WHERE fence <> 0 AND calls = 1", 3},
    {"done with a dead letter", SCENARIO_WRITES, learn_dead_fence, end_dead_letter,
     "SELECT 3 - count(*) FROM {dead}", 1},
    {"dead letter again", SCENARIO_WRITES, NULL, retry_dead_letter,
     "SELECT count(*) FROM {dead} WHERE error = 'again' AND fence = 0", 1},
    {"redrive", SCENARIO_WRITES, NULL, NULL, IS("3", "state = 0"), 1,
     .operation = {OPERATION_REDRIVE, 3, 1, 0}},
    {"reading", SCENARIO_READS, NULL, read_messages, NULL, 0},
    {"retain", SCENARIO_WRITES, NULL, NULL,
     "SELECT 2 - count(*) FROM {body} WHERE correlation_id IN ('1', '5')", 2,
     .operation = {OPERATION_RETAIN, 0, 0, 0}},
    {"purge", SCENARIO_WRITES, NULL, NULL,
     "SELECT 1 - count(*) FROM {body} WHERE correlation_id = '6'", 1,
     .operation = {OPERATION_PURGE, 6, 1, 0}},
    {"fold", SCENARIO_READS, NULL, NULL, NULL, 0, .operation = {OPERATION_FOLD, 0, 0, 0}},
    {.name = NULL},
};

const scenario_list fault_queue = {steps, "2:0/1 3:0/0 4:4/1 7:0/1 9:6/0"};

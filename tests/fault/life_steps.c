/* tests/fault/life_steps.c - the calls of one life, in order. */
#include "life.h"
#include "life_steps.h"

#include <string.h>

#if PAWL_TEST_SQLITE
#include <sqlite3.h>
#endif
#if PAWL_TEST_POSTGRES
#include <libpq-fe.h>
#endif

static const char *const digits[LIFE_MESSAGES] = {"0", "1", "2", "3", "4", "5", "6", "7", "8"};

static pawl_outgoing message(int number)
{
    pawl_outgoing m = kit_message("life", digits[number]);

    m.id = kit_id(number);
    m.correlation_id = digits[number];
    m.headers = "{\"traceparent\": \"x\"}";
    if (number == 4)
        m.expires_at = (pawl_wall){FIXTURE_START.us + 1000 * INT64_C(1000000)};
    if (number == 6)
        m.max_attempts = 1;
    return m;
}

pawl_store_options life_options(const fixture *f)
{
    pawl_store_options opts = *fixture_store_options(f);

    opts.log.write = NULL;
    opts.timeout_ms = 5000;
    return opts;
}

pawl_status life_open(life *l, pawl_error *err)
{
    pawl_store_options opts = life_options(l->f);

    return pawl_store_open(fixture_url(l->f), &opts, &l->store, err);
}

static pawl_status send_one(life *l, pawl_error *err)
{
    pawl_outgoing one = message(1);

    return pawl_outbox_enqueue(l->store, &one, NULL, err);
}

static pawl_status send_batch(life *l, pawl_error *err)
{
    pawl_outgoing batch[5] = {message(5), message(3), message(2), message(4), message(6)};

    return pawl_outbox_enqueue_batch(l->store, batch, 5, NULL, err);
}

/* Whether the application's transaction is open and can be committed. */
static bool tx_alive(life *l)
{
#if PAWL_TEST_SQLITE
    if (!fixture_is_postgres(l->f))
        return !sqlite3_get_autocommit(fixture_sqlite(l->f, 0));
#endif
#if PAWL_TEST_POSTGRES
    if (fixture_is_postgres(l->f))
        return PQstatus(fixture_postgres(l->f, 0)) == CONNECTION_OK &&
               PQtransactionStatus(fixture_postgres(l->f, 0)) == PQTRANS_INTRANS;
#endif
    return false;
}

/* Whatever state the fault left the application's own connection in. */
static void roll_back(life *l)
{
#if PAWL_TEST_SQLITE
    if (!fixture_is_postgres(l->f))
        sqlite3_exec(fixture_sqlite(l->f, 0), "ROLLBACK", NULL, NULL, NULL);
#endif
#if PAWL_TEST_POSTGRES
    if (fixture_is_postgres(l->f))
        PQreset(fixture_postgres(l->f, 0));
#endif
}

static void begin(life *l)
{
    fixture_tx_exec(l->f, 0, fixture_is_postgres(l->f) ? "BEGIN" : "BEGIN IMMEDIATE");
    fixture_tx_exec(l->f, 0, "INSERT INTO {orders} VALUES (1)");
}

static pawl_status send_wrapped(life *l, pawl_error *err)
{
    pawl_outgoing one = message(7);
    pawl_status st;

    if (fixture_is_postgres(l->f))
        st = pawl_tx_wrap_postgres(l->store, fixture_postgres(l->f, 0), &l->tx, err);
    else
        st = pawl_tx_wrap_sqlite(l->store, fixture_sqlite(l->f, 0), &l->tx, err);
    return st == PAWL_OK ? pawl_tx_enqueue(l->tx, &one, NULL, err) : st;
}

/*
 * The application commits whatever pawl answered: a failed call left the transaction as it was.
 * Unless it was told to start again, the engine ended the transaction, or the connection was cut;
 * then nothing of it can be there.
 */
static pawl_status commit(life *l, pawl_status st)
{
    int64_t orders = fixture_count(l->f, "SELECT count(*) FROM {orders}");
    bool cut = fixture_is_postgres(l->f) && l->faulted && failing_cuts();
    bool alive = !cut && tx_alive(l);

    pawl_tx_free(l->tx);
    l->tx = NULL;
    if (st == PAWL_OK && !alive && !cut)
        test_fail("a wrapped send answered PAWL_OK in a transaction that is gone");
    if (!alive || st == PAWL_E_TX_RESTART) {
        roll_back(l);
        return st == PAWL_OK ? PAWL_E_UNAVAILABLE : st;
    }
    fixture_tx_exec(l->f, 0, "COMMIT");
    assert_int_equal(orders + 1, fixture_count(l->f, "SELECT count(*) FROM {orders}"));
    return st;
}

static pawl_status claim(life *l, int64_t lease_ms, int limit, pawl_error *err)
{
    pawl_messages *list = NULL;
    pawl_status st = pawl_queue_claim(l->store, kit_owner(1), lease_ms, limit, NULL, &list, err);

    pawl_messages_free(list);
    return st;
}

static pawl_status claim_four(life *l, pawl_error *err)
{
    return claim(l, MINUTE_MS, 4, err);
}

static pawl_status claim_rest(life *l, pawl_error *err)
{
    return claim(l, SECOND_MS, 10, err);
}

/* What the owner was given, read from outside: the claim may have been in doubt. */
static void learn(life *l)
{
    for (int i = 1; i < LIFE_MESSAGES; i++) {
        l->held[i].id.value =
            fixture_count(l->f, "SELECT id FROM {message} WHERE correlation_id = '%d'", i);
        l->held[i].fence =
            fixture_count(l->f, "SELECT fence FROM {message} WHERE correlation_id = '%d'", i);
    }
}

static pawl_status renew(life *l, pawl_error *err)
{
    return pawl_queue_renew(l->store, kit_owner(1), &l->held[1], 4, 2 * MINUTE_MS, NULL, err);
}

static pawl_status ack(life *l, pawl_error *err)
{
    return pawl_queue_ack(l->store, kit_owner(1), &l->held[1], 1, NULL, err);
}

static pawl_status abandon(life *l, pawl_error *err)
{
    return pawl_queue_abandon(l->store, kit_owner(1), &l->held[2], 1, "not now", 5000, NULL, err);
}

static pawl_status fail_one(life *l, pawl_error *err)
{
    return pawl_queue_fail(l->store, kit_owner(1), &l->held[3], 1, "never", NULL, err);
}

static pawl_status release(life *l, pawl_error *err)
{
    return pawl_queue_release(l->store, kit_owner(1), &l->held[4], 1, NULL, err);
}

static pawl_status cancel(life *l, pawl_error *err)
{
    return pawl_outbox_cancel(l->store, &l->held[5].id, 1, NULL, err);
}

static void after_the_lease(life *l)
{
    fixture_set(l->f, (pawl_wall){FIXTURE_START.us + 2 * 1000000});
}

static void after_the_time_to_live(life *l)
{
    fixture_set(l->f, (pawl_wall){FIXTURE_START.us + 2000 * INT64_C(1000000)});
}

static pawl_status reap(life *l, pawl_error *err)
{
    return pawl_queue_reap(l->store, NULL, NULL, err);
}

static pawl_status expire(life *l, pawl_error *err)
{
    return pawl_queue_expire(l->store, NULL, NULL, err);
}

static pawl_status redrive(life *l, pawl_error *err)
{
    return pawl_outbox_redrive(l->store, &l->held[3].id, 1, NULL, err);
}

static pawl_status read_everything(life *l, pawl_error *err)
{
    pawl_messages *list = NULL;
    pawl_stats *stats = NULL;
    pawl_filter filter = PAWL_FILTER_INIT;
    pawl_wall now;
    pawl_status st = pawl_store_now(l->store, &now, err);

    filter.with_payload = true;
    if (st == PAWL_OK)
        st = pawl_outbox_list(l->store, &filter, &list, NULL, err);
    pawl_messages_free(list);
    list = NULL;
    if (st == PAWL_OK)
        st = pawl_outbox_get(l->store, l->held[2].id, &list, err);
    pawl_messages_free(list);
    list = NULL;
    if (st == PAWL_OK)
        st = pawl_outbox_find(l->store, kit_id(3), &list, err);
    pawl_messages_free(list);
    list = NULL;
    if (st == PAWL_OK)
        st = pawl_queue_held(l->store, kit_owner(1), &list, err);
    pawl_messages_free(list);
    if (st == PAWL_OK)
        st = pawl_outbox_stats(l->store, &stats, err);
    pawl_stats_free(stats);
    return st;
}

static pawl_status retain(life *l, pawl_error *err)
{
    return pawl_queue_retain(l->store, 0, NULL, NULL, err);
}

static pawl_status purge(life *l, pawl_error *err)
{
    return pawl_outbox_purge(l->store, &l->held[6].id, 1, NULL, err);
}

static pawl_status fold(life *l, pawl_error *err)
{
    return pawl_queue_fold(l->store, NULL, NULL, err);
}

#define COUNT_WHERE(condition) "SELECT count(*) FROM {message} WHERE " condition
#define IS(number, rest) COUNT_WHERE("correlation_id = '" number "' AND " rest)

/* Message n is the one whose correlation id is n. */
static const life_step steps[] = {
    {"open", NULL, life_open, NULL, NULL, 0},
    {"enqueue", NULL, send_one, NULL, IS("1", "state = 0"), 1},
    {"enqueue batch", NULL, send_batch, NULL,
     COUNT_WHERE("correlation_id IN ('2', '3', '4', '5', '6')"), 5},
    {"wrapped enqueue", begin, send_wrapped, commit, IS("7", "state = 0"), 1},
    {"take a lease", NULL, life_lease_take, NULL,
     "SELECT count(*) FROM {lease} WHERE released_at IS NULL", 1},
    {"renew a lease", NULL, life_lease_renew, NULL,
     "SELECT count(*) FROM {lease} WHERE {us:expires_at} = {us:taken_at} + 120000000", 1},
    {"send for effect", NULL, life_effect_send, NULL, IS("8", "state = 0"), 1},
    {"claim for effect", NULL, life_effect_claim, NULL, IS("8", "state = 1"), 1},
    {"effect once", learn, life_effect_once, NULL,
     "SELECT (SELECT count(*) FROM {outcome}) + (SELECT count(*) FROM {orders} WHERE n = 8)"
     " + (SELECT count(*) FROM {queue} q JOIN {body} b ON b.id = q.id WHERE b.correlation_id = "
     "'9')",
     3},
    {"release a lease", NULL, life_lease_release, NULL,
     "SELECT count(*) FROM {lease} WHERE released_at IS NOT NULL", 1},
    {"run a lease", NULL, life_lease_run, NULL, NULL, 0},
    {"pause", NULL, life_pause, NULL, "SELECT count(*) FROM {topic} WHERE paused_at IS NOT NULL",
     1},
    {"resume", NULL, life_resume, NULL,
     "SELECT 1 - count(*) FROM {topic} WHERE paused_at IS NOT NULL", 1},
    {"dead letters on", NULL, life_dead_letters, NULL, "SELECT count(*) FROM {topic} WHERE dead",
     1},
    {"claim", NULL, claim_four, NULL, COUNT_WHERE("state = 1"), 4},
    {"renew", learn, renew, NULL, COUNT_WHERE("{us:lease_until} = {us:created_at} + 120000000"), 4},
    {"progress", NULL, life_progress, NULL, IS("2", "progress = 'half'"), 1},
    {"ack", NULL, ack, NULL, IS("1", "state = 2"), 1},
    {"abandon", NULL, abandon, NULL, IS("2", "state = 0 AND retries = 1"), 1},
    {"fail", NULL, fail_one, NULL, IS("3", "state = 3"), 1},
    {"release", NULL, release, NULL, IS("4", "state = 0"), 1},
    {"cancel", NULL, cancel, NULL, IS("5", "state = 5"), 1},
    {"claim again", NULL, claim_rest, NULL, COUNT_WHERE("state = 1"), 3},
    {"reap", after_the_lease, reap, NULL,
     COUNT_WHERE("(correlation_id = '6' AND state = 3) OR"
                 " (correlation_id IN ('4', '7') AND state = 0 AND retries = 1)"),
     3},
    {"expire", after_the_time_to_live, expire, NULL,
     IS("4", "state = 4 AND finished_at IS NOT NULL"), 1},
    {"claim of dead letters", NULL, life_dead_claim, NULL,
     "SELECT count(*) FROM {dead} WHERE fence <> 0 AND calls = 1", 3},
    {"done with a dead letter", life_dead_learn, life_dead_done, NULL,
     "SELECT 3 - count(*) FROM {dead}", 1},
    {"dead letter again", NULL, life_dead_retry, NULL,
     "SELECT count(*) FROM {dead} WHERE error = 'again' AND fence = 0", 1},
    {"redrive", NULL, redrive, NULL, IS("3", "state = 0"), 1},
    {"reading", NULL, read_everything, NULL, NULL, 0},
    {"retain", NULL, retain, NULL,
     "SELECT 2 - count(*) FROM {body} WHERE correlation_id IN ('1', '5')", 2},
    {"purge", NULL, purge, NULL, "SELECT 1 - count(*) FROM {body} WHERE correlation_id = '6'", 1},
    {"fold", NULL, fold, NULL, NULL, 0},
    {NULL, NULL, NULL, NULL, NULL, 0},
};

const life_story life_queue = {steps, "2:0/1 3:0/0 4:4/1 7:0/1 9:0/0"};

/* tests/cut/server_killed_test.c - the server is killed under load, repeatedly. */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cut_load.h"
#include "kill_server.h"

#define THREADS (1 + LOAD_SENDERS + LOAD_WORKERS)
/* Answers between the recovery from one kill and the next: these, and up to as many by chance. */
#define ANSWERS_BETWEEN 150

typedef struct killing {
    load l;
    const char *data_directory;
    unsigned seed;
    long kills;
    int64_t recovery_ms[1000];
} killing;

static const char *kill_again_and_again(killing *k)
{
    unsigned random = k->seed;

    for (long i = 0; i < k->kills; i++) {
        if (!load_await_answers(&k->l, ANSWERS_BETWEEN + rand_r(&random) % ANSWERS_BETWEEN))
            return "the load made no progress";
        if (kill_server(k->data_directory) < 2)
            return "there was no server to kill";
        load_note_kill(&k->l); /* requests from now on need the next server */
        k->recovery_ms[i] = load_await_recovery(&k->l);
        if (k->recovery_ms[i] == 0)
            return "the stores did not recover";
    }
    return load_await_answers(&k->l, ANSWERS_BETWEEN) ? NULL : "the load made no progress";
}

static const char *load_thread(void *context, size_t index)
{
    killing *k = context;
    const char *wrong;

    if (index > LOAD_SENDERS)
        return load_work(&k->l, (int)index - LOAD_SENDERS - 1);
    if (index == LOAD_SENDERS)
        return load_send_wrapped(&k->l, LOAD_SENDERS - 1);
    if (index > 0)
        return load_send(&k->l, (int)index - 1);
    wrong = kill_again_and_again(k);
    atomic_store(&k->l.enough, true);
    return wrong;
}

static long send_states(const load *l, load_send_state fate)
{
    long count = 0;

    for (int i = 0; i < LOAD_SENDERS * LOAD_NUMBERS; i++)
        count += l->send_states[i] == fate;
    return count;
}

/* Every number is there exactly if it was stored, finished, and was handed out once. */
static void check_accounts(fixture *f, const load *l)
{
    PGconn *client = PQconnectdb(fixture_url(f));
    PGresult *rows = PQexec(client, fixture_expand(f, "SELECT convert_from(payload, 'UTF8'), state"
                                                      " FROM {message}"));
    const char *wrong = PQresultStatus(rows) == PGRES_TUPLES_OK ? NULL : "the messages are gone";
    long there = PQntuples(rows);

    for (int i = 0; !wrong && i < there; i++) {
        long number = strtol(PQgetvalue(rows, i, 0), NULL, 10);
        if (l->send_states[number] != LOAD_STORED)
            wrong = test_note("message %ld is there, and was not stored for certain", number);
        else if (strtol(PQgetvalue(rows, i, 1), NULL, 10) != PAWL_STATE_DONE)
            wrong = test_note("message %ld is not done", number);
        else if (atomic_load(&l->hands[number]) != 1)
            wrong = test_note("message %ld is done and was not handed out", number);
    }
    PQclear(rows);
    PQfinish(client);
    if (wrong)
        test_fail("%s", wrong);
    if (there != send_states(l, LOAD_STORED))
        test_fail("%ld messages were stored, and %ld are there", send_states(l, LOAD_STORED),
                  there);
}

static void check_orders(fixture *f)
{
    int first = (LOAD_SENDERS - 1) * LOAD_NUMBERS;
    int64_t orders = fixture_count(f, "SELECT count(*) FROM {orders}");
    int64_t both = fixture_count(f, "SELECT count(*) FROM {orders} o JOIN {message} m"
                                    " ON convert_from(m.payload, 'UTF8') = o.n::text");
    int64_t sent = fixture_count(
        f, "SELECT count(*) FROM {message} WHERE convert_from(payload, 'UTF8')::int >= %d", first);

    if (orders != both || sent != both)
        test_fail("%lld orders and %lld messages of theirs are there, %lld of them together",
                  (long long)orders, (long long)sent, (long long)both);
}

static void make_orders(fixture *f)
{
    PGconn *client = PQconnectdb(fixture_url(f));
    PGresult *result =
        PQexec(client, fixture_expand(f, "CREATE TABLE {orders} (n integer PRIMARY KEY)"));
    bool good = PQresultStatus(result) == PGRES_COMMAND_OK;

    PQclear(result);
    PQfinish(client);
    assert_true(good);
}

static void print_recoveries(const killing *k)
{
    int64_t longest = 0, sum = 0;

    for (long i = 0; i < k->kills; i++) {
        longest = k->recovery_ms[i] > longest ? k->recovery_ms[i] : longest;
        sum += k->recovery_ms[i];
    }
    printf("# killed %ld times (seed %u): recovered in %lld ms, at most %lld ms\n", k->kills,
           k->seed, (long long)(sum / (k->kills ? k->kills : 1)), (long long)longest);
}

static void forget_load(void *argument)
{
    load_done(&((killing *)argument)->l);
}

PAWL_TEST(nothing_is_lost_or_doubled_when_the_server_is_killed)
{
    static killing k;
    pawl_store_options opts = PAWL_STORE_OPTIONS_INIT;
    fixture *f;

    opts.timeout_ms = 5000;
    f = fixture_open(&(fixture_options){.real_clock = true, .store = &opts});
    make_orders(f); /* the fixture's own connection would not survive */
    load_init(&k.l, fixture_store(f));
    test_defer(forget_load, &k);
    k.l.target = fixture_url(f);
    k.l.insert_order = fixture_expand(f, "INSERT INTO {orders} VALUES (");
    k.l.count_order = fixture_expand(f, "SELECT count(*) FROM {orders} WHERE n = (");
    k.data_directory = getenv("PAWL_TEST_POSTGRES_DATA");
    k.seed = test_seed();
    k.kills = test_choose(3, 60);
    if (!k.data_directory)
        test_fail("run it under tests/with-postgres with PAWL_POSTGRES_FSYNC=on");
    test_threads(THREADS, load_thread, &k);
    print_recoveries(&k);
    printf("# stored %ld, given up %ld, in doubt %ld, refused %ld\n",
           send_states(&k.l, LOAD_STORED), send_states(&k.l, LOAD_GIVEN_UP),
           atomic_load(&k.l.doubts), atomic_load(&k.l.refusals));
    check_accounts(f, &k.l);
    check_orders(f);
    queue_check(f);
}

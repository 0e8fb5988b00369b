/* tests/cut/stall_test.c - the server falls silent, or is away for a while. */
#include <libpq-fe.h>
#include <pthread.h>
#include <stdio.h>

#include "cut_run.h"

/* Long enough for a call on a busy machine, short enough to wait for its end often. */
#define TIMEOUT_MS 1500
/* Far above the driver's limit for a cancelled statement: only a hanging call exceeds it. */
#define LATE_MS (TIMEOUT_MS + 2000 + 15000)

static void stall_at(const char *name, proxy_plan plan, long stride)
{
    cut_campaign c = {name, plan, stride, false, BELIEVE_THE_ANSWER, TIMEOUT_MS};
    cut_tally t = {0};

    cut_campaign_run(&c, &t);
    printf("# cut points: %ld, violations: %ld; the longest call took %lld ms of %d\n", t.points,
           t.violations, (long long)t.latest_ms, TIMEOUT_MS + 2000);
    assert_true(t.points > 0);
    if (t.violations > 0)
        test_fail("%ld violations, the first: %s", t.violations, t.first);
    if (t.latest_ms > LATE_MS)
        test_fail("a call with a timeout of %d ms took %lld ms", TIMEOUT_MS,
                  (long long)t.latest_ms);
}

PAWL_TEST(a_call_ends_when_its_connection_falls_silent)
{
    stall_at("silence before a message to the server",
             (proxy_plan){PROXY_STALL, PROXY_TO_SERVER, 9, false}, test_choose(127, 7));
    stall_at("silence before a message to the client",
             (proxy_plan){PROXY_STALL, PROXY_TO_CLIENT, 70, false}, test_choose(1009, 11));
}

PAWL_TEST(a_call_ends_when_the_whole_server_hangs)
{
    stall_at("a server that hangs before a message to the server",
             (proxy_plan){PROXY_HANG, PROXY_TO_SERVER, 11, false}, test_choose(1009, 17));
    stall_at("a server that hangs before a message to the client",
             (proxy_plan){PROXY_HANG, PROXY_TO_CLIENT, 130, false}, test_choose(1009, 23));
}

/* Here an enqueue, too, stays in doubt, and is resolved by its sender. */
PAWL_TEST(the_scenario_survives_a_server_that_is_away_for_a_while)
{
    stall_at("cut before a message to the server, then refused",
             (proxy_plan){PROXY_CUT_BEFORE, PROXY_TO_SERVER, 6, true}, test_stride(61));
    stall_at("cut before a message to the client, then refused",
             (proxy_plan){PROXY_CUT_BEFORE, PROXY_TO_CLIENT, 27, true}, test_stride(71));
}

static void end_client(void *argument)
{
    PQfinish(argument);
}

/* pawl does not commit here: it cannot be in doubt, and the transaction cannot be used again. */
static void send_into_silence(fixture *f, pawl_store *store, const proxy_plan *plan)
{
    proxy *p = proxy_new(fixture_url(f));
    PGconn *client = PQconnectdb(proxy_target(p));
    pawl_message_spec message = scenario_message(1);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_tx *tx = NULL;

    test_defer(end_client, client);
    PQclear(PQexec(client, "BEGIN"));
    assert_ok(pawl_tx_foreign_postgres(store, client, &tx, &err), &err);
    proxy_plan_next(p, plan);
    pawl_status st = pawl_tx_enqueue(tx, &message, NULL, &err);
    pawl_tx_free(tx);
    assert_true(proxy_reported(p).happened);
    proxy_go_on(p);
    assert_status(PAWL_E_TIMEOUT, st, &err);
    test_defer_cancel(client);
    PQfinish(client);
    fixture_await_backend_end(f, proxy_reported(p).backend);
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {body}"));
}

PAWL_TEST(a_send_in_a_transaction_ends_when_its_connection_falls_silent)
{
    pawl_store_options opts = PAWL_STORE_OPTIONS_INIT;
    fixture *f;

    opts.timeout_ms = TIMEOUT_MS;
    f = fixture_open(&(fixture_options){.store = &opts});
    for (long at = 1; at <= 12; at += test_stride(12)) {
        send_into_silence(f, fixture_store(f),
                          &(proxy_plan){PROXY_STALL, PROXY_TO_SERVER, at, false});
        send_into_silence(f, fixture_store(f),
                          &(proxy_plan){PROXY_STALL, PROXY_TO_CLIENT, at, false});
    }
}

struct stalled {
    scenario s;
    bool writes;
    pawl_status st;
    pawl_error err;
};

static void *call_stalled(void *argument)
{
    struct stalled *s = argument;
    pawl_messages *list = NULL;

    if (s->writes)
        s->st = pawl_queue_claim(s->s.store, queue_owner(1), MINUTE_MS, 5, NULL, &list, &s->err);
    else
        s->st = pawl_queue_owned(s->s.store, queue_owner(1), &list, &s->err);
    pawl_messages_free(list);
    return NULL;
}

static void close_store(void *argument)
{
    scenario_close(argument);
}

/* Nothing but the interrupt can end it before the test's own time limit. */
static void interrupt_silence(fixture *f, bool writes, const proxy_plan *plan)
{
    static struct stalled s; /* outlives a failing test, for what is deferred */
    pawl_error err = PAWL_ERROR_INIT;
    proxy *p = proxy_new(fixture_url(f));
    pthread_t thread;
    size_t unused;

    s = (struct stalled){.s = {.f = f, .url = proxy_target(p)}, .writes = writes};
    s.s.options = *fixture_store_options(f);
    s.s.options.timeout_ms = HOUR_MS;
    assert_ok(scenario_open(&s.s, &unused, &err), &err);
    test_defer(close_store, &s.s);
    proxy_plan_next(p, plan);
    assert_int_equal(0, pthread_create(&thread, NULL, call_stalled, &s));
    bool happened = proxy_await(p, 20000);
    pawl_store_interrupt(s.s.store);
    pthread_join(thread, NULL);
    proxy_go_on(p);
    assert_true(happened);
    assert_status(writes ? PAWL_E_IN_DOUBT : PAWL_E_INTERRUPTED, s.st, &s.err);
    fixture_await_backend_end(f, proxy_reported(p).backend);
    assert_ok(scenario_read_owned(&s.s, &unused, &err), &err); /* the store is as good as before */
    test_defer_cancel(&s.s);
    scenario_close(&s.s);
}

PAWL_TEST(an_interrupt_ends_a_call_on_a_silent_connection)
{
    fixture *f = fixture_open(NULL);

    for (int writes = 0; writes < 2; writes++) {
        interrupt_silence(f, writes, &(proxy_plan){PROXY_STALL, PROXY_TO_SERVER, 1, false});
        interrupt_silence(f, writes, &(proxy_plan){PROXY_HANG, PROXY_TO_CLIENT, 2, false});
    }
    queue_check(f);
}

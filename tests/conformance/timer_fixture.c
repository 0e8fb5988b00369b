/* tests/conformance/timer_fixture.c - every scheduling strategy with a clock that tests move. */
#include "timer_fixture.h"

#include <pawl/sys/strategy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if PAWL_TEST_SQLITE
#include <sqlite3.h>
#endif

static pawl_wall own_clock(void *context)
{
    return ((timers *)context)->now;
}

static void free_scheduler(void *scheduler)
{
    pawl_scheduler_free(scheduler);
}

static void open_memory(timers *t)
{
    pawl_scheduler_memory_options options = PAWL_SCHEDULER_MEMORY_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;

    t->now = FIXTURE_START;
    options.now = own_clock;
    options.context = t;
    assert_ok(pawl_scheduler_new_in_memory(&options, &t->scheduler, &err), &err);
    assert_string_equal("memory", pawl_scheduler_strategy(t->scheduler));
    test_defer(free_scheduler, t->scheduler);
}

/* ---- a strategy as a user would write it: it passes all calls on ---- */

typedef struct own {
    pawl_scheduler *inner;
} own;

static pawl_status own_schedule(void *self, const pawl_message_spec *messages, size_t count,
                                pawl_enqueued *ret_enqueued, pawl_error *err)
{
    return pawl_timer_schedule_batch(((own *)self)->inner, messages, count, ret_enqueued, err);
}

static pawl_status own_cancel(void *self, const pawl_uuid *ids, size_t count, size_t *ret_cancelled,
                              pawl_error *err)
{
    return pawl_timer_cancel(((own *)self)->inner, ids, count, ret_cancelled, err);
}

static pawl_status own_get(void *self, pawl_uuid id, pawl_messages **ret_one, pawl_error *err)
{
    return pawl_timer_get(((own *)self)->inner, id, ret_one, err);
}

static pawl_status own_list(void *self, const pawl_timer_filter *query, pawl_messages **ret_list,
                            pawl_page *ret_next, pawl_error *err)
{
    return pawl_timer_list(((own *)self)->inner, query, ret_list, ret_next, err);
}

static pawl_status own_count(void *self, const pawl_timer_filter *query,
                             pawl_timer_total *ret_total, pawl_error *err)
{
    return pawl_timer_count(((own *)self)->inner, query, ret_total, err);
}

static pawl_status own_take_due(void *self, int limit, pawl_messages **ret_list, pawl_error *err)
{
    return pawl_timer_take_due(((own *)self)->inner, limit, ret_list, err);
}

/* No next_due: pawl finds it by what is pending. */
static const pawl_strategy own_strategy = {
    .version = PAWL_STRATEGY_VERSION,
    .name = "own",
    .schedule = own_schedule,
    .cancel = own_cancel,
    .get = own_get,
    .list = own_list,
    .count = own_count,
    .take_due = own_take_due,
    .free = free,
};

static void open_own(timers *t)
{
    pawl_error err = PAWL_ERROR_INIT;
    own *o = malloc(sizeof *o);

    if (!o)
        abort();
    open_memory(t);
    *o = (own){t->scheduler};
    assert_ok(pawl_scheduler_new(&own_strategy, o, &t->scheduler, &err), &err);
    assert_string_equal("own", pawl_scheduler_strategy(t->scheduler));
    test_defer(free_scheduler, t->scheduler);
}

/* ---- stores ---- */

static void schedule_on(timers *t, pawl_store *store)
{
    pawl_error err = PAWL_ERROR_INIT;

    t->store = store;
    assert_ok(pawl_scheduler_new_on_store(store, &t->scheduler, &err), &err);
    assert_string_equal("store", pawl_scheduler_strategy(t->scheduler));
    test_defer(free_scheduler, t->scheduler);
}

static void open_store(timers *t)
{
    t->f = fixture_open(NULL);
    schedule_on(t, fixture_store(t->f));
}

#if PAWL_TEST_SQLITE
/*
 * A store in memory is reached by its own connection only, which a handler is lent: so a message
 * is handled whose effect is to set the clock.
 */
static void run_inside(timers *t, const char *sql)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec message = queue_message("the clock", "");
    const char *topic = message.topic;
    pawl_claim_options options = PAWL_CLAIM_OPTIONS_INIT;
    pawl_messages *list = NULL;
    pawl_tx *tx = NULL;
    char *problem = NULL;

    options.topics = &topic;
    options.topic_count = 1;
    assert_ok(pawl_outbox_enqueue(t->store, &message, NULL, &err), &err);
    assert_ok(pawl_queue_claim(t->store, queue_owner(9), DAY_MS, 1, &options, &list, &err), &err);
    queue_keep(list);
    pawl_status st =
        pawl_tx_begin_for(t->store, queue_owner(9), fixture_receipt(list, 0), &tx, &err);
    assert_ok(st, &err);
    if (sqlite3_exec(pawl_tx_sqlite(tx), sql, NULL, NULL, &problem) != SQLITE_OK)
        test_fail("%s: %s", sql, problem);
    assert_ok(pawl_tx_commit_with_ack(tx, &err), &err);
    pawl_tx_free(tx);
}

static void close_store(void *store)
{
    pawl_store_close(store);
}

static void open_store_in_memory(timers *t)
{
    pawl_store_options options = PAWL_STORE_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store = NULL;

    options.deploy_schema = true;
    assert_ok(pawl_store_open("sqlite::memory:", &options, &store, &err), &err);
    test_defer(close_store, store);
    schedule_on(t, store);
    t->now = FIXTURE_START;
    run_inside(
        t, test_note("CREATE TABLE pawl_test_clock (now INTEGER NOT NULL) STRICT;"
                     "INSERT INTO pawl_test_clock VALUES (%lld);"
                     "DROP VIEW pawl_wall;"
                     "CREATE VIEW pawl_wall AS SELECT now FROM pawl_test_clock;"
                     "DROP VIEW pawl_boot;"
                     "CREATE VIEW pawl_boot AS SELECT 0 AS now, 'test' AS id;"
                     "DELETE FROM pawl_body; UPDATE pawl_meta SET latest_time = 0, boot_id = ''",
                     (long long)FIXTURE_START.us));
}
#endif

typedef struct timer_backend {
    const char *name;
    void (*open)(timers *t);
} timer_backend;

static const timer_backend without_server[] = {
    {"memory", open_memory},
    {"a strategy of one's own", open_own},
#if PAWL_TEST_SQLITE
    {"a store in a file", open_store},
    {"a store in memory", open_store_in_memory},
#endif
};
static const timer_backend with_server[] = {{"a store in PostgreSQL", open_store}};

void timers_each(void (*body)(timers *t))
{
    const char *engine = getenv("PAWL_TEST_ENGINE");
    bool postgres = engine && strcmp(engine, "postgres") == 0;
    const timer_backend *grounds = postgres ? with_server : without_server;
    size_t count = postgres ? COUNT_OF(with_server) : COUNT_OF(without_server);

    for (size_t i = 0; i < count; i++) {
        timers *t = calloc(1, sizeof *t);

        if (!t)
            abort();
        test_defer(free, t);
        t->name = grounds[i].name;
        printf("# %s\n", t->name);
        grounds[i].open(t);
        body(t);
    }
}

timers *timers_on_store(void)
{
    timers *t = calloc(1, sizeof *t);

    if (!t)
        abort();
    test_defer(free, t);
    open_store(t);
    return t;
}

void timers_advance(timers *t, int64_t ms)
{
    if (t->f) {
        fixture_advance(t->f, ms);
        return;
    }
    t->now.us += ms * 1000;
#if PAWL_TEST_SQLITE
    if (t->store)
        run_inside(t, test_note("UPDATE pawl_test_clock SET now = %lld", (long long)t->now.us));
#endif
}

pawl_enqueued timers_schedule(timers *t, const pawl_message_spec *message)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_enqueued enqueued = {.existed = true};

    assert_ok(pawl_timer_schedule(t->scheduler, message, &enqueued, &err), &err);
    return enqueued;
}

pawl_enqueued timers_after(timers *t, const char *topic, const char *payload, int64_t delay_ms)
{
    pawl_message_spec message = queue_message(topic, payload);

    message.delay_ms = delay_ms;
    return timers_schedule(t, &message);
}

const char *timers_deliver(timers *t, int limit)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_owner owner = queue_owner(1);
    pawl_messages *list = NULL;

    if (!t->store) {
        assert_ok(pawl_timer_take_due(t->scheduler, limit, &list, &err), &err);
        return queue_payloads(queue_keep(list));
    }
    assert_ok(pawl_queue_claim(t->store, owner, MINUTE_MS, limit, NULL, &list, &err), &err);
    queue_keep(list);
    assert_ok(pawl_queue_ack(t->store, owner, queue_receipts(list), pawl_messages_count(list), NULL,
                             &err),
              &err);
    return queue_payloads(list);
}

const char *timers_pending(timers *t, const pawl_timer_filter *given)
{
    pawl_timer_filter query = PAWL_TIMER_FILTER_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;

    if (given)
        query = *given;
    query.with_payload = true;
    assert_ok(pawl_timer_list(t->scheduler, &query, &list, NULL, &err), &err);
    return queue_payloads(queue_keep(list));
}

int64_t timers_count(timers *t, const pawl_timer_filter *query)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_timer_total total = {-1, true};

    assert_ok(pawl_timer_count(t->scheduler, query, &total, &err), &err);
    assert_false(total.is_at_least);
    return total.count;
}

pawl_state timers_state(timers *t, pawl_uuid id)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *one = NULL;

    assert_ok(pawl_timer_get(t->scheduler, id, &one, &err), &err);
    return pawl_message_state(pawl_messages_at(queue_keep(one), 0));
}

size_t timers_cancel(timers *t, pawl_uuid id)
{
    pawl_error err = PAWL_ERROR_INIT;
    size_t cancelled = 99;

    assert_ok(pawl_timer_cancel(t->scheduler, &id, 1, &cancelled, &err), &err);
    return cancelled;
}

/* tests/concurrency/deploy_threads_test.c - many make the schema at once: one does, all succeed. */
#include "queue_fixture.h"

#include <stdatomic.h>

#define THREADS 8

struct deployment {
    const char *url;
    const pawl_store_options *opts;
    atomic_int made;
};

static const char *deploy(void *context, size_t index)
{
    struct deployment *deployment = context;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_schema_info before = PAWL_SCHEMA_INFO_INIT;

    (void)index;
    before.version = -1;
    if (pawl_schema_deploy(deployment->url, deployment->opts, &before, &err) != PAWL_OK)
        return test_note("deploy: %s", err.message);
    if (before.version == 0)
        atomic_fetch_add(&deployment->made, 1);
    return NULL;
}

PAWL_TEST(eight_threads_deploy_and_one_of_them_creates_the_schema)
{
    const fixture_options opts = {.no_schema = true, .real_clock = true};
    fixture *f = fixture_open(&opts);
    struct deployment deployment = {.url = fixture_url(f), .opts = fixture_store_options(f)};

    test_threads(THREADS, deploy, &deployment);
    assert_int_equal(1, atomic_load(&deployment.made));
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {meta}"));
    fixture_reopen(f);
    fixture_send(f, "t", "x");
    assert_string_equal("x", queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 1)));
}

static const char *open_and_send(void *context, size_t index)
{
    struct deployment *deployment = context;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec message = queue_message("t", "x");
    pawl_store_options opts = *deployment->opts;
    pawl_store *store = NULL;
    pawl_status st;

    (void)index;
    opts.deploy_schema = true;
    st = pawl_store_open(deployment->url, &opts, &store, &err);
    if (st == PAWL_OK)
        st = pawl_outbox_enqueue(store, &message, NULL, &err);
    pawl_store_close(store);
    return st == PAWL_OK ? NULL : test_note("open and send: %s", err.message);
}

PAWL_TEST(eight_threads_open_with_deploy_schema_and_send)
{
    const fixture_options opts = {.no_schema = true, .real_clock = true};
    fixture *f = fixture_open(&opts);
    struct deployment deployment = {.url = fixture_url(f), .opts = fixture_store_options(f)};

    test_threads(THREADS, open_and_send, &deployment);
    assert_int_equal(THREADS, fixture_count(f, "SELECT count(*) FROM {queue}"));
    queue_check(f);
}

/* tests/concurrency/process_test.c - eight processes on one queue. */
#include <stdlib.h>

#include "child_process.h"
#include "queue_fixture.h"

#define PROCESSES 8
#define MESSAGES 2000

static child helpers[PROCESSES];

static void end_helpers(void *unused)
{
    (void)unused;
    for (int i = 0; i < PROCESSES; i++)
        child_end(&helpers[i]);
}

/* How often each of `count` ids from `first` on was said. */
typedef struct id_counts {
    int64_t first;
    int *counts;
    int count;
} id_counts;

static void count_id(void *context, const char *line)
{
    const id_counts *c = context;
    int64_t id = strtoll(line, NULL, 10);

    if (id >= c->first && id < c->first + c->count)
        c->counts[id - c->first]++;
}

/* Run eight of them together; counts[id - first] counts how often an id was said. */
static void run_together(fixture *f, const char *verb, int64_t first, int *counts, int count)
{
    id_counts c = {first, counts, count};

    test_defer(end_helpers, NULL);
    for (int i = 0; i < PROCESSES; i++) {
        const char *arguments[] = {verb, test_note("%d", i), NULL};
        child_start_on(&helpers[i], "process_helper", f, arguments);
    }
    for (int i = 0; i < PROCESSES; i++)
        child_close_input(&helpers[i]); /* go */
    for (int i = 0; i < PROCESSES; i++) {
        child_listen_to_the_end(&helpers[i], count_id, &c);
        child_expect_success(&helpers[i], "a process");
    }
}

PAWL_TEST(eight_processes_claim_every_message_once)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec *messages = test_malloc(MESSAGES * sizeof *messages);
    pawl_enqueued *sent = test_malloc(MESSAGES * sizeof *sent);
    int counts[MESSAGES] = {0};
    int64_t first;

    for (int i = 0; i < MESSAGES; i++)
        messages[i] = queue_message(i % 3 ? "common" : "rare", "x");
    assert_ok(pawl_outbox_enqueue_batch(fixture_store(f), messages, MESSAGES, sent, &err), &err);
    first = sent[0].work_id.value;
    test_free(messages);
    test_free(sent);
    run_together(f, "claim", first, counts, MESSAGES);
    for (int i = 0; i < MESSAGES; i++)
        if (counts[i] != 1)
            test_fail("message %d was claimed %d times", i, counts[i]);
    assert_int_equal(MESSAGES, fixture_count(f, "SELECT count(*) FROM {outcome} WHERE state = 2"));
    queue_check(f);
}

PAWL_TEST(eight_processes_send_the_same_ids_and_each_is_stored_once)
{
    fixture *f = fixture_open(NULL);
    int counts[100000] = {0};
    int stored = 0;

    run_together(f, "send", 0, counts, 100000);
    for (int i = 0; i < 100000; i++) {
        assert_true(counts[i] <= 1);
        stored += counts[i];
    }
    assert_int_equal(200, stored);
    assert_int_equal(200, fixture_count(f, "SELECT count(*) FROM {body}"));
    queue_check(f);
}

PAWL_TEST(eight_processes_create_the_schema_together)
{
    const fixture_options opts = {.no_schema = true, .real_clock = true};
    fixture *f = fixture_open(&opts);

    run_together(f, "deploy", 0, NULL, 0);
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {meta}"));
    fixture_reopen(f);
    fixture_send(f, "t", "x");
    queue_check(f);
}

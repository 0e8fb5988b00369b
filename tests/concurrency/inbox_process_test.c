/*
 * tests/concurrency/inbox_process_test.c - sixteen receivers, every message delivered ten times,
 * and receivers that are killed all the time: each effect is there once.
 */
#include "inbox_storm.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#include "child_process.h"
#include "inbox_fixture.h"

#define RECEIVERS 16

typedef struct tempest {
    fixture *f;
    storm *shared;
    const char *file;
    const char *table;
    child receivers[RECEIVERS];
    int ordered; /* receivers that are to be killed */
    unsigned seed;
    int killed; /* by us or by themselves */
} tempest;

static void start_receiver(tempest *t, int which)
{
    const char *arguments[] = {t->table, t->file, test_note("%u", ++t->seed * 2654435761u), NULL};

    child_start_on(&t->receivers[which], "inbox_helper", t->f, arguments);
}

static void end_receivers(void *context)
{
    tempest *t = context;

    for (int i = 0; i < RECEIVERS; i++)
        child_end(&t->receivers[i]);
    free(t);
}

static tempest *begin_storm(bool call_out, long messages, long die_every)
{
    const fixture_options quick = {.store = &(pawl_store_options){
                                       .size = sizeof(pawl_store_options),
                                       .durability = PAWL_DURABILITY_NORMAL,
                                       .timeout_ms = 60000,
                                       .pool_size = 2,
                                       .backoff_local = PAWL_BACKOFF_LOCAL,
                                       .backoff_remote = PAWL_BACKOFF_REMOTE,
                                       .inbox_keep_ms = 1000 * DAY_MS,
                                   }};
    tempest *t = calloc(1, sizeof *t);

    assert_non_null(t);
    t->f = fixture_open(&quick);
    fixture_exec(t->f, "CREATE TABLE {orders} (n integer)");
    t->table = fixture_expand(t->f, "{orders}");
    t->shared = child_shared_memory(sizeof(storm), &t->file);
    t->shared->call_out = call_out;
    t->shared->messages = messages;
    t->shared->die_every = die_every;
    test_defer(end_receivers, t);
    for (int i = 0; i < RECEIVERS; i++)
        start_receiver(t, i);
    return t;
}

/* A part of the deliveries has begun. */
static void hear_milestone(void *context, const char *line)
{
    (void)line;
    ((tempest *)context)->ordered++;
}

/* Whether it got to the end; else another one takes its place. */
static bool is_last_word(tempest *t, int which)
{
    int status = child_await_end(&t->receivers[which]);
    bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;

    child_end(&t->receivers[which]);
    if (!killed && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
        test_fail("a receiver ended with wait status %d", status);
    t->killed += killed;
    if (killed)
        start_receiver(t, which);
    return !killed;
}

/* A random receiver, at any point. */
static void kill_random_receiver(tempest *t, bool time_passes)
{
    child *somebody = &t->receivers[t->seed++ % RECEIVERS];

    if (somebody->pid > 0)
        child_signal(somebody, SIGKILL);
    if (time_passes) /* deliveries of the killed receivers can be processed again */
        fixture_advance(t->f, 4 * SECOND_MS);
}

/* The storm lasts until every receiver has found that there is nothing more to deliver. */
static void run_storm(tempest *t, bool time_passes)
{
    int left = RECEIVERS;

    while (left > 0) {
        struct pollfd outs[RECEIVERS];

        for (int i = 0; i < RECEIVERS; i++)
            outs[i] =
                (struct pollfd){t->receivers[i].pid > 0 ? t->receivers[i].out : -1, POLLIN, 0};
        (void)poll(outs, RECEIVERS, -1);
        for (int i = 0; i < RECEIVERS; i++) {
            if (outs[i].revents == 0)
                continue;
            child_listen(&t->receivers[i], hear_milestone, t);
            if (t->receivers[i].out == 0)
                left -= is_last_word(t, i);
        }
        for (; t->ordered > 0; t->ordered--)
            kill_random_receiver(t, time_passes);
    }
}

/* As senders do: retries until it is acknowledged. */
static void deliver_until_processed(tempest *t, long message)
{
    const char *id = test_note("%ld", message);
    const char *response = test_note("response %ld", message);
    uint8_t hash[PAWL_HASH_SIZE] = {(uint8_t)message};

    for (time_t end = time(NULL) + 60;;) {
        pawl_error err = PAWL_ERROR_INIT;
        pawl_inbox_task *arrival = NULL;
        if (t->shared->call_out)
            assert_ok(
                pawl_inbox_call(fixture_store(t->f), STORM_SOURCE, id, hash, NULL, &arrival, &err),
                &err);
        else
            assert_ok(
                pawl_inbox_begin(fixture_store(t->f), STORM_SOURCE, id, hash, NULL, &arrival, &err),
                &err);
        pawl_inbox_result answer = pawl_inbox_task_result(arrival);
        if (answer == PAWL_INBOX_NEW) {
            if (!t->shared->call_out)
                assert_true(inbox_write(t->f, pawl_inbox_task_tx(arrival),
                                        test_note("INSERT INTO {orders} VALUES (%ld)", message)));
            else if (atomic_fetch_add(&t->shared->calls[message], 1) == 0)
                atomic_fetch_add(&t->shared->effects[message], 1);
            inbox_done(arrival, response);
        } else if (answer == PAWL_INBOX_DUPLICATE) {
            assert_string_equal(response, inbox_response(arrival));
        }
        pawl_inbox_task_free(arrival);
        if (answer == PAWL_INBOX_DUPLICATE)
            return;
        if (answer != PAWL_INBOX_NEW && time(NULL) > end)
            test_fail("message %ld is still '%s' after a minute", message,
                      pawl_inbox_result_name(answer));
    }
}

static void finish_storm(tempest *t, const char *what)
{
    storm *s = t->shared;
    long sum;

    fixture_advance(t->f, HOUR_MS); /* all leases of the killed ones have ended */
    for (long i = 0; i < s->messages; i++)
        deliver_until_processed(t, i);
    sum = atomic_load(&s->duplicates);
    printf("# %s: %ld messages, %ld deliveries, %d receivers killed; %ld duplicates got the cached "
           "response, %ld were in progress elsewhere, %ld calls failed, %ld wrong answers\n",
           what, s->messages, s->messages * STORM_TIMES, t->killed, sum,
           atomic_load(&s->in_progress), atomic_load(&s->failed), atomic_load(&s->wrong));
    assert_int_equal(0, atomic_load(&s->wrong));
    assert_int_equal(s->messages, fixture_count(t->f, "SELECT count(*) FROM {inbox_record}"
                                                      " WHERE state = 2"));
    assert_true(t->killed > 20);
    assert_true(sum > s->messages);
}

static long how_many(void)
{
    return test_choose(300, STORM_MESSAGES_MAX);
}

PAWL_TEST(every_effect_is_there_once_however_often_receivers_are_killed)
{
    tempest *t = begin_storm(false, how_many(), 25);

    run_storm(t, true);
    finish_storm(t, "atomic");
    assert_int_equal(t->shared->messages, fixture_count(t->f, "SELECT count(*) FROM {orders}"));
    assert_int_equal(t->shared->messages,
                     fixture_count(t->f, "SELECT count(DISTINCT n) FROM {orders}"));
}

PAWL_TEST(a_call_is_made_again_with_its_key_after_a_kill_and_never_twice_at_once)
{
    tempest *t = begin_storm(true, how_many(), 25);
    long repeated = 0, calls = 0;

    run_storm(t, false);
    /* Time stood still: no lease has ended, so nothing was called a second time. */
    for (long i = 0; i < t->shared->messages; i++)
        assert_true(atomic_load(&t->shared->calls[i]) <= 1);
    finish_storm(t, "call-out");
    for (long i = 0; i < t->shared->messages; i++) {
        assert_int_equal(1, atomic_load(&t->shared->effects[i]));
        calls += atomic_load(&t->shared->calls[i]);
        repeated += atomic_load(&t->shared->calls[i]) - 1;
    }
    printf("# call-out: %ld calls, %ld of them repeated under the same key\n", calls, repeated);
    assert_true(repeated > 0);
}

/*
 * tests/concurrency/inbox_process_test.c - sixteen receivers, every message delivered ten times,
 * and receivers that are killed all the time: each effect is there once.
 */
#include "inbox_storm.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "inbox_kit.h"

#define RECEIVERS 16

typedef struct tempest {
    fixture *f;
    storm *shared;
    const char *file;
    const char *table;
    pid_t receivers[RECEIVERS];
    unsigned seed;
    int killed; /* by us or by themselves */
} tempest;

static const char *helper_path(void)
{
    char path[4096] = "";
    char *slash;

    assert_true(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    slash = strrchr(path, '/');
    assert_non_null(slash);
    *slash = '\0';
    return test_note("%s/inbox_helper", path);
}

static pid_t start_receiver(tempest *t)
{
    const pawl_store_options *opts = fixture_store_options(t->f);
    const char *arguments[] = {helper_path(),
                               t->file,
                               fixture_url(t->f),
                               opts->schema ? opts->schema : "",
                               opts->table_prefix ? opts->table_prefix : "",
                               t->table,
                               test_note("%u", ++t->seed * 2654435761u),
                               NULL};
    char *copy[8] = {NULL};
    pid_t pid;

    for (size_t i = 0; i + 1 < COUNT_OF(arguments); i++) {
        copy[i] = strdup(arguments[i]);
        assert_non_null(copy[i]);
    }
    assert_int_equal(0, posix_spawn(&pid, arguments[0], NULL, NULL, copy, environ));
    for (size_t i = 0; copy[i]; i++)
        free(copy[i]);
    return pid;
}

static void end_receivers(void *context)
{
    tempest *t = context;

    for (int i = 0; i < RECEIVERS; i++) {
        if (t->receivers[i] > 0) {
            kill(t->receivers[i], SIGKILL);
            waitpid(t->receivers[i], NULL, 0);
        }
    }
    munmap(t->shared, sizeof(storm));
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
    int fd;

    assert_non_null(t);
    t->f = fixture_open(&quick);
    fixture_exec(t->f, "CREATE TABLE {orders} (n integer)");
    t->file = test_note("%s/storm", test_directory());
    t->table = fixture_expand(t->f, "{orders}");
    fd = open(t->file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && ftruncate(fd, sizeof(storm)) == 0);
    t->shared = mmap(NULL, sizeof(storm), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(t->shared != MAP_FAILED);
    close(fd);
    t->shared->call_out = call_out;
    t->shared->messages = messages;
    t->shared->die_every = die_every;
    test_defer(end_receivers, t);
    for (int i = 0; i < RECEIVERS; i++)
        t->receivers[i] = start_receiver(t);
    return t;
}

/* The storm lasts until every receiver has found that there is nothing more to deliver. */
static void weather(tempest *t, bool time_passes)
{
    long total = t->shared->messages * STORM_TIMES, kill_at = total / 100;
    int left = RECEIVERS;

    while (left > 0) {
        int status = 0;
        pid_t ended = waitpid(-1, &status, WNOHANG);
        if (ended == 0 && atomic_load(&t->shared->next) < kill_at) {
            sched_yield();
            continue;
        }
        if (ended == 0 && kill_at < total) { /* somebody, at any place */
            pid_t victim = t->receivers[t->seed++ % RECEIVERS];
            if (victim > 0)
                kill(victim, SIGKILL);
            kill_at += total / 100;
            if (time_passes) /* what the killed ones were at can be taken over */
                fixture_advance(t->f, 4 * SECOND_MS);
            continue;
        }
        for (int i = 0; ended > 0 && i < RECEIVERS; i++) {
            if (t->receivers[i] != ended)
                continue;
            t->receivers[i] = 0; /* reaped: its id may be anybody's */
            bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
            if (!killed && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
                test_fail("a receiver ended with wait status %d", status);
            t->killed += killed;
            left -= !killed;
            if (killed)
                t->receivers[i] = start_receiver(t);
        }
        sched_yield();
    }
}

/* What senders do: again and again until it is acknowledged. */
static void deliver_until_processed(tempest *t, long message)
{
    const char *id = test_note("%ld", message);
    const char *response = test_note("response %ld", message);
    uint8_t hash[PAWL_HASH_SIZE] = {(uint8_t)message};

    for (time_t end = time(NULL) + 60;;) {
        pawl_error err = PAWL_ERROR_INIT;
        pawl_arrival *arrival = NULL;
        if (t->shared->call_out)
            assert_ok(
                pawl_inbox_call(fixture_store(t->f), STORM_SOURCE, id, hash, NULL, &arrival, &err),
                &err);
        else
            assert_ok(
                pawl_inbox_begin(fixture_store(t->f), STORM_SOURCE, id, hash, NULL, &arrival, &err),
                &err);
        pawl_inbox_answer answer = pawl_arrival_answer(arrival);
        if (answer == PAWL_INBOX_NEW) {
            if (!t->shared->call_out)
                assert_true(inbox_write(t->f, pawl_arrival_tx(arrival),
                                        test_note("INSERT INTO {orders} VALUES (%ld)", message)));
            else if (atomic_fetch_add(&t->shared->calls[message], 1) == 0)
                atomic_fetch_add(&t->shared->effects[message], 1);
            inbox_done(arrival, response);
        } else if (answer == PAWL_INBOX_DUPLICATE) {
            assert_string_equal(response, inbox_response(arrival));
        }
        pawl_arrival_free(arrival);
        if (answer == PAWL_INBOX_DUPLICATE)
            return;
        if (answer != PAWL_INBOX_NEW && time(NULL) > end)
            test_fail("message %ld is still '%s' after a minute", message,
                      pawl_inbox_answer_name(answer));
    }
}

static void finish(tempest *t, const char *what)
{
    storm *s = t->shared;
    long sum;

    fixture_advance(t->f, HOUR_MS); /* all leases of the killed ones have ended */
    for (long i = 0; i < s->messages; i++)
        deliver_until_processed(t, i);
    sum = atomic_load(&s->duplicates);
    printf("# %s: %ld messages, %ld deliveries, %d receivers killed; %ld duplicates got the cached "
           "response, %ld were told to come later, %ld calls failed, %ld wrong answers\n",
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
    return getenv("PAWL_TEST_WHOLE") ? STORM_MESSAGES_MAX : 300;
}

PAWL_TEST(every_effect_is_there_once_however_often_receivers_are_killed)
{
    tempest *t = begin_storm(false, how_many(), 25);

    weather(t, true);
    finish(t, "atomic");
    assert_int_equal(t->shared->messages, fixture_count(t->f, "SELECT count(*) FROM {orders}"));
    assert_int_equal(t->shared->messages,
                     fixture_count(t->f, "SELECT count(DISTINCT n) FROM {orders}"));
}

PAWL_TEST(a_call_is_made_again_with_its_key_after_a_kill_and_never_twice_at_once)
{
    tempest *t = begin_storm(true, how_many(), 25);
    long repeated = 0, calls = 0;

    weather(t, false);
    /* Time stood still: no lease has ended, so nothing was called a second time. */
    for (long i = 0; i < t->shared->messages; i++)
        assert_true(atomic_load(&t->shared->calls[i]) <= 1);
    finish(t, "call-out");
    for (long i = 0; i < t->shared->messages; i++) {
        assert_int_equal(1, atomic_load(&t->shared->effects[i]));
        calls += atomic_load(&t->shared->calls[i]);
        repeated += atomic_load(&t->shared->calls[i]) - 1;
    }
    printf("# call-out: %ld calls, %ld of them repeated under the same key\n", calls, repeated);
    assert_true(repeated > 0);
}

/*
 * tests/jobs/process_test.c - schedulers that are processes, killed and stopped at any moment.
 *
 * A job of every second; the clock is the test's. In each round all look at once, one of them is
 * killed or stopped meanwhile, the others go on, and it goes on after them with what it had read.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "child_process.h"
#include "job_fixture.h"

#define SCHEDULERS 3
#define PATIENCE_MS 120000
#define REDUCED 25
#define WHOLE 1000

typedef struct scheduler {
    child process;
    long told, answered, failed;
    bool ready;
} scheduler;

typedef struct simulation {
    fixture *f;
    scheduler schedulers[SCHEDULERS];
    unsigned random;
    long killed, stopped, writing;
} simulation;

static void end_all(void *argument)
{
    simulation *p = argument;

    for (int i = 0; i < SCHEDULERS; i++)
        child_end(&p->schedulers[i].process);
    free(p);
}

static void hear(void *context, const char *line)
{
    scheduler *s = context;

    s->ready |= strcmp(line, "ready") == 0;
    s->answered += strcmp(line, "looked") == 0 || strcmp(line, "failed") == 0;
    s->failed += strcmp(line, "failed") == 0;
}

/* Until it has answered everything it was told. */
static void await_answer(scheduler *s)
{
    int64_t end_ms = test_clock_ms() + PATIENCE_MS;

    while (!s->ready || s->answered < s->told) {
        struct pollfd out = {s->process.out, POLLIN, 0};
        if (test_clock_ms() > end_ms)
            test_fail("a scheduler does not answer");
        (void)poll(&out, 1, (int)(end_ms - test_clock_ms()) + 1);
        child_listen(&s->process, hear, s);
    }
}

static void start_scheduler(simulation *p, int which)
{
    scheduler *s = &p->schedulers[which];

    child_end(&s->process);
    *s = (scheduler){0};
    child_start_on(&s->process, "tick_helper", p->f, NULL);
}

static void tell(scheduler *s)
{
    child_write(&s->process, 'x');
    s->told++;
}

/* A moment that nobody can foresee. */
static void let_some_time_pass(simulation *p)
{
    for (volatile int i = rand_r(&p->random) % 3000000; i > 0; i--)
        continue;
}

/* SQLite: whoever writes when it is stopped keeps all others waiting. */
static bool others_can_write(simulation *p)
{
    pawl_store_options opts = *fixture_store_options(p->f);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store = NULL;

    if (fixture_is_postgres(p->f))
        return true;
    opts.timeout_ms = 200;
    assert_ok(pawl_store_open(fixture_url(p->f), &opts, &store, &err), &err);
    pawl_status st = pawl_queue_compact_stats(store, NULL, NULL, &err);
    pawl_store_close(store);
    return st == PAWL_OK;
}

static void others_look(simulation *p, int but)
{
    for (int i = 0; i < SCHEDULERS; i++)
        if (i != but)
            tell(&p->schedulers[i]);
    for (int i = 0; i < SCHEDULERS; i++)
        if (i != but)
            await_answer(&p->schedulers[i]);
}

static void simulation_round(simulation *p)
{
    int chosen = rand_r(&p->random) % SCHEDULERS;
    scheduler *s = &p->schedulers[chosen];
    bool stop = rand_r(&p->random) % 2 == 0;

    for (int i = 0; i < SCHEDULERS; i++)
        await_answer(&p->schedulers[i]);
    fixture_advance(p->f, SECOND_MS * (1 + rand_r(&p->random) % 5));
    for (int i = 0; i < SCHEDULERS; i++)
        tell(&p->schedulers[i]);
    let_some_time_pass(p);
    child_signal(&s->process, stop ? SIGSTOP : SIGKILL);
    if (!stop) {
        start_scheduler(p, chosen);
        p->killed++;
    } else {
        child_await_stopped(&s->process);
        p->stopped++;
        if (!others_can_write(p)) {
            child_signal(&s->process, SIGCONT);
            p->writing++;
        }
    }
    fixture_advance(p->f, SECOND_MS);
    others_look(p, chosen);
    if (stop)
        child_signal(&s->process, SIGCONT);
    await_answer(s);
}

/* Each second one run, and each run one message. */
static void check_occurrences(simulation *p, int64_t seconds)
{
    pawl_runs *runs = job_runs(p->f, "second");
    pawl_messages *list = queue_claim(p->f, queue_owner(1), MINUTE_MS, 10000, NULL);

    assert_int_equal(seconds, pawl_runs_count(runs));
    assert_int_equal(seconds, pawl_messages_count(list));
    for (int64_t i = 0; i < seconds; i++) {
        const pawl_run *run = pawl_runs_at(runs, (size_t)(seconds - 1 - i));
        const pawl_message *message = pawl_messages_at(list, (size_t)i);
        assert_time(FIXTURE_START.us + (i + 1) * 1000000, run->scheduled_at);
        assert_int_equal(run->id, pawl_message_run_id(message));
    }
}

PAWL_TEST(schedulers_killed_and_stopped_make_each_occurrence_once)
{
    simulation *p = calloc(1, sizeof *p);
    pawl_job_definition job = job_define("second", "every 1s");
    long rounds = test_choose(REDUCED, WHOLE);

    assert_non_null(p);
    p->random = test_seed();
    p->f = fixture_open(NULL);
    test_defer(end_all, p);
    job.misfire = PAWL_MISFIRE_ALL;
    job.misfire_cap = 1000;
    job.misfire_grace_ms = DAY_MS;
    job.overlap = PAWL_OVERLAP_ALLOW;
    job.keep_runs = 100000;
    job_put(p->f, &job);
    for (int i = 0; i < SCHEDULERS; i++)
        start_scheduler(p, i);
    for (long i = 0; i < rounds; i++)
        simulation_round(p);
    others_look(p, -1);
    int64_t occurrences = (fixture_now(p->f).us - FIXTURE_START.us) / 1000000;
    check_occurrences(p, occurrences);
    long failed = 0;
    for (int i = 0; i < SCHEDULERS; i++)
        failed += p->schedulers[i].failed;
    printf("# %ld rounds, %ld killed, %ld stopped (%ld while writing), %ld looks failed: %d "
           "occurrences, "
           "0 missing, 0 twice\n",
           rounds, p->killed, p->stopped, p->writing, failed, (int)occurrences);
}

/* tests/process/survive_test.c - workers killed, stopped and ended, databases killed, under load.
 */
#include "process_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "kill_server.h"

/* Least, sum and most of a time over all rounds. */
typedef struct span {
    int64_t least_ms, sum_ms, most_ms;
} span;

typedef struct tally {
    long rounds, messages, leased, late, again, doubts, refusals;
    span first, all;
} tally;

/* The mishap of a round; *leased (may stay unset) counts what was under lease then. */
typedef recovery (*mishap)(processes *s, unsigned *random, long *leased);

static void span_add(span *sp, long rounds, int64_t ms)
{
    sp->least_ms = rounds == 0 || ms < sp->least_ms ? ms : sp->least_ms;
    sp->most_ms = ms > sp->most_ms ? ms : sp->most_ms;
    sp->sum_ms += ms;
}

static void tally_add(tally *t, const processes *s, recovery r)
{
    span_add(&t->first, t->rounds, r.first_ms);
    span_add(&t->all, t->rounds, r.all_ms);
    t->rounds++;
    t->messages += processes_stored(s);
    for (int i = 0; i < PROCESSES_WORKERS; i++) {
        t->late += s->workers[i].lost;
        t->again += s->workers[i].again;
    }
    for (int i = 0; i < PROCESSES_SENDERS; i++) {
        t->doubts += s->senders[i].doubts;
        t->refusals += s->senders[i].refusals;
    }
}

static void tally_print(const tally *t, const char *what)
{
    long rounds = t->rounds > 0 ? (long)t->rounds : 1;
    const char *engine = getenv("PAWL_TEST_ENGINE");

    printf("# %s, %s: rounds %ld, messages %ld, lost 0, doubled 0; commits that came too late %ld, "
           "that failed %ld; senders refused %ld, in doubt %ld\n",
           engine, what, t->rounds, t->messages, t->late, t->again, t->refusals, t->doubts);
    if (t->leased > 0) /* not every mishap counts it */
        printf("# %s, %s: under lease then %ld\n", engine, what, t->leased);
    printf(
        "# %s, %s: handled again after %lld / %lld / %lld ms, all done after %lld / %lld / %lld ms "
        "(least, mean, most of %ld)\n",
        engine, what, (long long)t->first.least_ms, (long long)(t->first.sum_ms / rounds),
        (long long)t->first.most_ms, (long long)t->all.least_ms,
        (long long)(t->all.sum_ms / rounds), (long long)t->all.most_ms, t->rounds);
}

/* Many rounds in `make proof`, one otherwise. */
static void run_rounds(const char *what, mishap happen)
{
    long rounds = test_choose(1, 30);
    unsigned random = test_seed();
    tally t = {0};

    for (long i = 0; i < rounds; i++) {
        processes *s = processes_open();
        recovery r = happen(s, &random, &t.leased);
        processes_finish(s);
        const char *wrong = processes_audit(s);
        if (wrong)
            test_fail("%s, round %ld: %s", what, i, wrong);
        tally_add(&t, s, r);
        processes_close(s);
    }
    tally_print(&t, what);
}

/* All processes work; then continue to a random moment. */
static void work_for_a_while(processes *s, unsigned *random)
{
    processes_start_all(s);
    long target = s->done + 50 + rand_r(random) % 200;
    processes_until(s, s->done >= target);
    processes_listen_for(s, rand_r(random) % 8);
}

static recovery kill_a_worker(processes *s, unsigned *random, long *leased)
{
    work_for_a_while(s, random);
    processes_kill_worker(s, 0);
    processes_mark(s);
    *leased += (long)processes_leased_by(s, 0);
    return processes_await_recovery(s);
}

PAWL_TEST(a_killed_worker_loses_and_doubles_nothing)
{
    run_rounds("worker killed", kill_a_worker);
}

/*
 * One of its handlers is at the point where it would write its row, and has not asked for a long
 * time whether the message is still its own.
 */
static recovery stop_a_worker(processes *s, unsigned *random, long *leased)
{
    worker_process *stopped = &s->workers[0];
    const char *options[] = {test_note("block=%d", 5 + rand_r(random) % 100), NULL};

    processes_start_worker(s, 0, options);
    processes_start_worker(s, 1, NULL);
    for (int i = 0; i < PROCESSES_SENDERS; i++)
        processes_start_sender(s, i, NULL);
    processes_until(s, stopped->blocked_number >= 0 && s->workers[1].done > 0);
    processes_stop_worker(s, 0);
    processes_mark(s);
    *leased += (long)processes_leased_by(s, 0);
    processes_until(s, s->first_ms > 0);
    processes_until_seen(s, processes_has_row(s, stopped->blocked_number)); /* by the other one */
    recovery r = {s->first_ms, test_clock_ms() - s->marked_ms};
    long done = stopped->done;
    child_signal(&stopped->process, SIGCONT);
    child_write(&stopped->process, 'x');
    processes_until(s, stopped->blocked_lost || stopped->blocked_done);
    assert_false(stopped->blocked_done);
    processes_until(s, stopped->done > done); /* it works again */
    return r;
}

PAWL_TEST(a_stopped_worker_that_continues_after_its_lease_is_fenced)
{
    run_rounds("worker stopped", stop_a_worker);
}

/* All processes of the application at once: there is no server that could be killed. */
static void kill_everybody(processes *s)
{
    for (int i = 0; i < 2; i++)
        child_signal(&s->workers[i].process, SIGKILL);
    for (int i = 0; i < PROCESSES_SENDERS; i++)
        child_signal(&s->senders[i].process, SIGKILL);
    for (int i = 0; i < 2; i++)
        processes_kill_worker(s, i);
    for (int i = 0; i < PROCESSES_SENDERS; i++)
        processes_kill_sender(s, i);
}

static recovery kill_the_database(processes *s, unsigned *random, long *leased)
{
    const char *data_directory = getenv("PAWL_TEST_POSTGRES_DATA");

    work_for_a_while(s, random);
    if (!fixture_is_postgres(s->f)) {
        kill_everybody(s);
        processes_mark(s);
        *leased += (long)(processes_leased_by(s, 0) + processes_leased_by(s, 1));
        processes_start_all(s);
    } else {
        if (!data_directory)
            test_fail("run it under tests/with-postgres with PAWL_POSTGRES_FSYNC=on");
        assert_true(kill_server(data_directory) > 1);
        processes_mark(s); /* processes that start from now on need the next server */
    }
    return processes_await_recovery(s);
}

PAWL_TEST(a_killed_database_loses_and_doubles_nothing)
{
    run_rounds("database killed", kill_the_database);
}

static recovery end_the_workers(processes *s, unsigned *random, long *leased)
{
    (void)leased;
    work_for_a_while(s, random);
    processes_mark(s);
    for (int i = 0; i < 2; i++)
        child_signal(&s->workers[i].process, SIGTERM);
    for (int i = 0; i < 2; i++)
        processes_await_end(s, &s->workers[i].process, "a worker");
    const char *wrong = processes_check_nothing_leased(s);
    if (wrong)
        test_fail("after SIGTERM: %s", wrong);
    s->first_ms = 0; /* only the new processes count */
    for (int i = 2; i < 4; i++)
        processes_start_worker(s, i, NULL);
    return processes_await_recovery(s);
}

PAWL_TEST(workers_that_are_stopped_leave_nothing_leased)
{
    run_rounds("workers ended", end_the_workers);
}

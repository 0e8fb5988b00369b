/* tests/process/broken_test.c - deliberately wrong programs, which the audit must detect. */
#include "process_fixture.h"

#include <signal.h>
#include <string.h>

/* The first worker, and another one that does it right, under load. */
static processes *start_with(const char *const *options)
{
    processes *s = processes_open();

    processes_start_worker(s, 0, options);
    processes_start_worker(s, 1, NULL);
    for (int i = 0; i < PROCESSES_SENDERS; i++)
        processes_start_sender(s, i, NULL);
    return s;
}

/* That the audit finds it, and how. */
static void check_caught(processes *s, const char *how)
{
    processes_finish(s);
    const char *wrong = processes_audit(s);
    if (!wrong || strncmp(wrong, how, strlen(how)) != 0)
        test_fail("should be %s, and the audit says: %s", how, wrong ? wrong : "nothing");
}

PAWL_TEST(a_row_outside_the_transaction_is_doubled_when_the_worker_is_killed)
{
    processes *s = start_with((const char *[]){"block-after=10", "break=double", NULL});

    processes_until(s, s->workers[0].blocked_number >= 0);
    processes_kill_worker(s, 0);
    check_caught(s, "doubled");
}

PAWL_TEST(a_row_without_the_fence_is_doubled_when_the_worker_was_stopped)
{
    processes *s = start_with((const char *[]){"block=10", "break=double", NULL});
    worker_process *stopped = &s->workers[0];

    processes_until(s, stopped->blocked_number >= 0);
    processes_stop_worker(s, 0);
    processes_until_seen(s, processes_has_row(s, stopped->blocked_number));
    child_signal(&stopped->process, SIGCONT);
    child_write(&stopped->process, 'x');
    processes_until(s, stopped->blocked_done);
    check_caught(s, "doubled");
}

PAWL_TEST(a_message_that_is_done_without_its_row_is_missed)
{
    processes *s = start_with((const char *[]){"break=forget", NULL});

    processes_until(s, s->workers[0].done > 0);
    check_caught(s, "lost");
}

PAWL_TEST(a_number_that_was_never_sent_is_missed)
{
    processes *s = processes_open();

    processes_start_worker(s, 0, NULL);
    processes_start_sender(s, 0, "break=unsent");
    processes_until(s, s->senders[0].stored > 20);
    check_caught(s, "lost");
}

PAWL_TEST(a_worker_that_just_ends_leaves_something_leased)
{
    processes *s = processes_open();

    processes_start_worker(s, 0, (const char *[]){"block=10", "break=leave", NULL});
    processes_start_sender(s, 0, NULL);
    processes_until(s, s->workers[0].blocked_number >= 0);
    child_signal(&s->workers[0].process, SIGTERM);
    processes_await_end(s, &s->workers[0].process, "the worker");
    assert_non_null(processes_check_nothing_leased(s));
    processes_start_worker(s, 1, NULL); /* which puts it right */
    processes_finish(s);
    assert_null(processes_audit(s));
}

/* tests/process/broken_test.c - programs that are wrong on purpose, which the books must show. */
#include "scene.h"

#include <signal.h>
#include <string.h>

/* The first worker, and another one that does it right, under load. */
static scene *start_with(const char *const *options)
{
    scene *s = scene_open();

    scene_start_worker(s, 0, options);
    scene_start_worker(s, 1, NULL);
    for (int i = 0; i < SCENE_SENDERS; i++)
        scene_start_sender(s, i, NULL);
    return s;
}

/* That the books are wrong, and how. */
static void check_caught(scene *s, const char *how)
{
    scene_finish(s);
    const char *wrong = scene_audit(s);
    if (!wrong || strncmp(wrong, how, strlen(how)) != 0)
        test_fail("should be %s, and the books say: %s", how, wrong ? wrong : "nothing");
}

PAWL_TEST(a_row_outside_the_transaction_is_doubled_when_the_worker_is_killed)
{
    scene *s = start_with((const char *[]){"hold-after=10", "break=double", NULL});

    scene_until(s, s->workers[0].holding >= 0);
    scene_kill_worker(s, 0);
    check_caught(s, "doubled");
}

PAWL_TEST(a_row_without_the_fence_is_doubled_when_the_worker_was_stopped)
{
    scene *s = start_with((const char *[]){"hold=10", "break=double", NULL});
    scene_worker *stopped = &s->workers[0];

    scene_until(s, stopped->holding >= 0);
    scene_stop_worker(s, 0);
    scene_until_seen(s, scene_has_row(s, stopped->holding));
    child_signal(&stopped->process, SIGCONT);
    child_tell(&stopped->process, 'x');
    scene_until(s, stopped->held_done);
    check_caught(s, "doubled");
}

PAWL_TEST(a_message_that_is_done_without_its_row_is_missed)
{
    scene *s = start_with((const char *[]){"break=forget", NULL});

    scene_until(s, s->workers[0].done > 0);
    check_caught(s, "lost");
}

PAWL_TEST(a_number_that_was_never_sent_is_missed)
{
    scene *s = scene_open();

    scene_start_worker(s, 0, NULL);
    scene_start_sender(s, 0, "break=unsent");
    scene_until(s, s->senders[0].stored > 20);
    check_caught(s, "lost");
}

PAWL_TEST(a_worker_that_just_ends_leaves_something_leased)
{
    scene *s = scene_open();

    scene_start_worker(s, 0, (const char *[]){"hold=10", "break=leave", NULL});
    scene_start_sender(s, 0, NULL);
    scene_until(s, s->workers[0].holding >= 0);
    child_signal(&s->workers[0].process, SIGTERM);
    scene_await_end(s, &s->workers[0].process, "the worker");
    assert_non_null(scene_check_nothing_leased(s));
    scene_start_worker(s, 1, NULL); /* which puts it right */
    scene_finish(s);
    assert_null(scene_audit(s));
}

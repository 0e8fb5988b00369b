/* tests/concurrency/wake_process_test.c - no wake-up is lost when other processes send. */
#include <stdio.h>

#include "child_process.h"
#include "wake_fixture.h"

#define PROCESSES 2
#define ROUNDS 500

static child helpers[PROCESSES]; /* a byte to one: send one */

static void end_helpers(void *unused)
{
    (void)unused;
    for (int i = 0; i < PROCESSES; i++)
        child_end(&helpers[i]);
}

static void run_rounds(bool flighty)
{
    const fixture_options real_clock = {.real_clock = true};
    fixture *f = fixture_open(&real_clock);
    wake_worker *worker = wake_start(fixture_store(f), flighty);
    unsigned seed = 3;
    int sent = 0;

    wake_need_events(f);
    test_defer(end_helpers, NULL);
    for (int i = 0; i < PROCESSES; i++)
        child_start_on(&helpers[i], "wake_helper", f, NULL);
    for (int i = 0; i < wake_rounds(ROUNDS); i++) {
        int both = i % 10 == 0;

        wake_dawdle(worker, &seed);
        for (int p = 0; p <= both; p++) {
            child_write(&helpers[(i + p) % PROCESSES], '!');
            sent++;
        }
        wake_expect(worker, sent);
    }
    for (int i = 0; i < PROCESSES; i++) {
        child_close_input(&helpers[i]);
        child_expect_success(&helpers[i], "a helper");
    }
    printf("# %d of %d messages were slept for\n", worker->sleeps, worker->taken);
}

PAWL_TEST(a_message_from_another_process_wakes)
{
    run_rounds(false);
}

PAWL_TEST(a_message_from_another_process_wakes_a_worker_going_idle)
{
    run_rounds(true);
}

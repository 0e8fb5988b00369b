/* tests/delivery/delivery_fault_test.c - the Nth call of the database fails, its response perhaps
 * lost, or the Nth allocation: all is sent in the end, and nothing stays leased.
 */
#include "delivery_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include "failing.h"

#if PAWL_TEST_SQLITE
#include <sqlite3.h>
#endif

#define MESSAGES 6
#define STEPS_MAX 1000

static int how_to_fail(const delivery_fixture *d, long nth)
{
#if PAWL_TEST_SQLITE
    if (!fixture_is_postgres(d->f))
        return nth % 2 ? SQLITE_IOERR | FAILING_AFTERWARDS : SQLITE_FULL;
#endif
    (void)d;
    return nth % 2 ? FAILING_CUTS : FAILING_REFUSES;
}

/* Everything delivered though one call fails; false: this many calls are not made. */
static bool survive(delivery_fixture *d, failing_kind kind, long nth)
{
    pawl_error err = PAWL_ERROR_INIT;
    int64_t before = delivery_count(d, PAWL_STATE_DONE);
    bool reached = false;

    for (int i = 0; i < MESSAGES; i++)
        delivery_send(d, i % 2 ? "peer" : "moody", "ok", "1");
    failing_arm(kind, nth, kind == FAILING_SQL ? how_to_fail(d, nth) : 0);
    for (int i = 0; i < STEPS_MAX; i++) {
        assert_ok(pawl_delivery_step(d->delivery, 20, NULL, &err), &err);
        failing_pause();
        bool all = delivery_count(d, PAWL_STATE_DONE) == before + MESSAGES;
        if (all && !failing_happened())
            break;
        if (all && delivery_leased(d) == 0) {
            reached = true;
            break;
        }
        fixture_advance(d->f, SECOND_MS); /* messages that could not be sent are retried later */
        failing_resume();
    }
    failing_disarm();
    assert_int_equal(before + MESSAGES, delivery_count(d, PAWL_STATE_DONE));
    assert_int_equal(0, delivery_leased(d));
    return reached;
}

static void survive_all(failing_kind kind, long every)
{
    long nth;

    failing_prepare();
    delivery_fixture *d = delivery_open(NULL);
    d->options.log.write = NULL; /* the memory of the test's own log would fail, too */
    delivery_start(d);
    for (nth = 1; survive(d, kind, nth); nth += test_stride(every))
        ;
    assert_true(nth > 10);
    printf("# %ld calls\n", nth);
    queue_check(d->f);
}

PAWL_TEST(a_call_that_fails_costs_nothing_but_time)
{
    survive_all(FAILING_SQL, 5);
}

PAWL_TEST(memory_that_is_short_for_a_moment_costs_nothing_but_time)
{
    survive_all(FAILING_MEMORY, 29);
}

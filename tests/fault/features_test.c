/* tests/fault/features_test.c - memory runs out, or the database's library fails, under the inbox,
 * timers and jobs.
 */
#include "fault_run.h"

#include <string.h>

#if PAWL_TEST_SQLITE
#include <sqlite3.h>
#endif

#define TIMERS 100 /* more than the heaps and the lists have room for at first */

/* Before the first use of SQLite, which sets up its memory then. */
__attribute__((constructor)) static void prepare_sqlite(void)
{
    failing_prepare();
}

PAWL_TEST(receiving_survives_every_failing_allocation)
{
    fault_run_all(&fault_inbox, FAILING_MEMORY, 0, "out of memory in pawl",
                  (fault_points){0, test_stride(13)});
}

PAWL_TEST(timers_of_a_store_survive_every_failing_allocation)
{
    fault_run_all(&fault_timer, FAILING_MEMORY, 0, "out of memory in pawl",
                  (fault_points){0, test_stride(11)});
}

PAWL_TEST(jobs_survive_every_failing_allocation)
{
    fault_run_all(&fault_job, FAILING_MEMORY, 0, "out of memory in pawl",
                  (fault_points){0, test_stride(7)});
}

#if PAWL_TEST_SQLITE
/* Of the allocations inside SQLite only every `sparse`-th: there are thousands. */
static void survive_sqlite(const scenario_list *list, long stride, long sparse)
{
    fault_run_all(list, FAILING_SQL, SQLITE_IOERR, "SQLite answers an I/O error",
                  (fault_points){0, test_stride(stride)});
    fault_run_all(list, FAILING_SQLITE_MEMORY, 0, "out of memory in SQLite",
                  (fault_points){0, sparse});
}

PAWL_TEST_ON(sqlite, receiving_survives_every_failing_sqlite_call)
{
    survive_sqlite(&fault_inbox, 13, test_stride(13) * 53);
}

PAWL_TEST_ON(sqlite, timers_of_a_store_survive_every_failing_sqlite_call)
{
    survive_sqlite(&fault_timer, 11, test_stride(13) * 53);
}

PAWL_TEST_ON(sqlite, jobs_survive_every_failing_sqlite_call)
{
    survive_sqlite(&fault_job, 11, test_stride(5) * 131);
}
#endif

#if PAWL_TEST_POSTGRES
static void survive_libpq(const scenario_list *list, long stride)
{
    const fault_points points = {0, test_stride(stride)};

    fault_run_all(list, FAILING_SQL, FAILING_REFUSES, "libpq answers a failure", points);
    fault_run_all(list, FAILING_SQL, FAILING_CUTS, "the connection is cut", points);
}

PAWL_TEST_ON(postgres, receiving_survives_every_failing_libpq_call_and_a_cut_connection)
{
    survive_libpq(&fault_inbox, 29);
}

PAWL_TEST_ON(postgres, timers_of_a_store_survive_every_failing_libpq_call_and_a_cut_connection)
{
    survive_libpq(&fault_timer, 17);
}

PAWL_TEST_ON(postgres, jobs_survive_every_failing_libpq_call_and_a_cut_connection)
{
    survive_libpq(&fault_job, 7);
}
#endif

/* ---- timers in memory ---- */

static pawl_status schedule_timers(pawl_scheduler *scheduler, pawl_error *err)
{
    pawl_message_spec batch[TIMERS];

    for (int i = 0; i < TIMERS; i++) {
        batch[i] = queue_message("t", "x");
        batch[i].id = queue_id(i + 1);
    }
    return pawl_timer_schedule_batch(scheduler, batch, TIMERS, NULL, err);
}

static pawl_status read_timers(pawl_scheduler *scheduler, pawl_error *err)
{
    pawl_messages *list = NULL;
    pawl_status st = pawl_timer_list(scheduler, NULL, &list, NULL, err);

    pawl_messages_free(list);
    list = NULL;
    if (st == PAWL_OK)
        st = pawl_timer_get(scheduler, queue_id(1), &list, err);
    pawl_messages_free(list);
    return st;
}

static size_t take_due_timers(pawl_scheduler *scheduler, pawl_status *ret_status, pawl_error *err)
{
    pawl_messages *list = NULL;
    size_t count;

    *ret_status = pawl_timer_take_due(scheduler, PAWL_BATCH_MAX, &list, err);
    count = pawl_messages_count(list);
    pawl_messages_free(list);
    return count;
}

/* One call fails, says so and has changed nothing; made again, it does all. */
static bool run_with_failure(long nth)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_scheduler *scheduler = NULL;
    pawl_status st;
    size_t taken;

    failing_arm(FAILING_MEMORY, nth, 0);
    st = pawl_scheduler_new_in_memory(NULL, &scheduler, &err);
    if (st == PAWL_OK)
        st = schedule_timers(scheduler, &err);
    if (st == PAWL_OK)
        st = read_timers(scheduler, &err);
    taken = 0;
    if (st == PAWL_OK)
        taken = take_due_timers(scheduler, &st, &err);
    bool happened = failing_disarm();
    assert_int_equal(happened ? PAWL_E_NOMEM : PAWL_OK, st);
    if (happened) {
        assert_int_equal(0, taken);
        if (!scheduler)
            assert_ok(pawl_scheduler_new_in_memory(NULL, &scheduler, &err), &err);
        assert_ok(schedule_timers(scheduler, &err),
                  &err); /* the same ids: once, whatever was before */
        taken = take_due_timers(scheduler, &st, &err);
        assert_ok(st, &err);
    }
    assert_int_equal(TIMERS, taken);
    pawl_scheduler_free(scheduler);
    return happened;
}

PAWL_TEST_ON(one_engine, timers_in_memory_survive_every_failing_allocation)
{
    long nth = 1;

    while (run_with_failure(nth))
        nth++;
    assert_true(nth > TIMERS);
}

/* ---- schedules ---- */

PAWL_TEST(reading_a_schedule_survives_every_failing_allocation)
{
    static const char *const texts[] = {"*/7 3-9 1,15,LW JAN-MAR FRI#2,MON", "every 1h30m",
                                        "nonsense"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        bool failed = true;
        for (long nth = 1; failed; nth++) {
            pawl_schedule_options opts = PAWL_SCHEDULE_OPTIONS_INIT;
            pawl_schedule *schedule = NULL;
            pawl_error err = PAWL_ERROR_INIT;
            opts.zone = "Europe/Berlin";
            failing_arm(FAILING_MEMORY, nth, 0);
            pawl_status st = pawl_schedule_parse(texts[i], &opts, &schedule, &err);
            failed = failing_disarm();
            if (failed)
                assert_status(PAWL_E_NOMEM, st, &err);
            else
                assert_status(strcmp(texts[i], "nonsense") == 0 ? PAWL_E_INVALID : PAWL_OK, st,
                              &err);
            assert_true((schedule != NULL) == (st == PAWL_OK));
            pawl_schedule_free(schedule);
        }
    }
}

/* tests/fault/fault_run.c - the scenario of every kind of call, one of whose calls below fails. */
#include "fault_run.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "application_sql.h"

pawl_store_options fault_store_options(const fixture *f)
{
    pawl_store_options opts = *fixture_store_options(f);

    opts.log.write = NULL;
    opts.timeout_ms = 5000;
    return opts;
}

fixture *fault_fixture(void)
{
    fixture *f = fixture_open(NULL);

    fixture_exec(f, "CREATE TABLE {orders} (n integer)");
    return f;
}

bool fault_application_sql(pawl_tx *tx, const char *sql)
{
    failing_pause();
    bool done = application_sql(tx, sql);
    failing_resume();
    return done;
}

pawl_status fault_write_row(scenario *s, pawl_tx *tx, int n, pawl_error *err)
{
    failing_pause();
    const char *sql = fixture_expand(s->f, test_note("INSERT INTO {orders} VALUES (%d)", n));
    failing_resume();
    if (fault_application_sql(tx, sql))
        return PAWL_OK;
    *err = (pawl_error){.status = PAWL_E_UNAVAILABLE,
                        .message = "the application could not write its row"};
    return err->status;
}

void fault_wait_for_server(fixture *f)
{
    fixture_await_backend_end(f, failing_cut_backend());
}

long fault_next_point(long nth, fault_points points)
{
    return nth < points.dense ? nth + 1 : nth + points.stride;
}

/* ---- a run ---- */

static void expect_right(const scenario_step *step, const char *wrong)
{
    if (wrong)
        test_fail("%s, in which %s failed: %s", step->name, failing_where(), wrong);
}

static int64_t fault_run_look(scenario *s, const scenario_step *step)
{
    int64_t there = 0;

    expect_right(step, scenario_check_tables(s, step, &there));
    return there;
}

static void repeat_step(scenario *s, const scenario_step *step)
{
    pawl_error err = PAWL_ERROR_INIT;
    size_t unused = 0;

    s->faulted = false;
    if (step->prepare)
        step->prepare(s);
    pawl_status st = scenario_perform(s, step, &unused, &err);
    if (step->finish)
        st = step->finish(s, st);
    if (st != PAWL_OK)
        expect_right(step, test_note("it does not recover: %s", err.message));
    if (step->effect && fault_run_look(s, step) == 0)
        expect_right(step, "it was repeated, and nothing is there");
}

static void run_step(scenario *s, const scenario_step *step)
{
    pawl_error err = PAWL_ERROR_INIT;
    bool happened_before = failing_happened();
    size_t unused = 0;

    if (step->prepare)
        step->prepare(s);
    failing_resume();
    pawl_status st = scenario_perform(s, step, &unused, &err);
    failing_pause();
    s->faulted = failing_happened() != happened_before;
    if (s->faulted)
        fault_wait_for_server(s->f);
    if (st != PAWL_OK && (err.status != st || !err.message[0]))
        expect_right(step,
                     test_note("it answered %s, but the error says %s: \"%s\"",
                               pawl_status_name(st), pawl_status_name(err.status), err.message));
    if (step->finish)
        st = step->finish(s, st);
    if (!s->faulted && st == PAWL_OK)
        return;
    int64_t there = fault_run_look(s, step);
    expect_right(step, scenario_judge(step, st, &err, there));
    if (st != PAWL_OK && there == 0)
        repeat_step(s, step);
}

/* However the test ends. */
static void end_run(void *argument)
{
    scenario_close(argument);
}

/* Whether the call was reached: false means that the steps passed untouched. */
static bool run_once(fixture *f, const scenario_list *list, failing_kind kind, long nth, int how)
{
    static scenario s;

    s = (scenario){.f = f, .url = fixture_url(f), .options = fault_store_options(f)};
    test_defer(end_run, &s);
    scenario_clean(f);
    failing_arm(kind, nth, how);
    failing_pause();
    for (const scenario_step *step = list->steps; step->name; step++)
        run_step(&s, step);
    const char *wrong = scenario_check_end(&s, list->end);
    if (wrong)
        test_fail("after %s failed: %s", failing_where(), wrong);
    failing_resume();
    test_defer_cancel(&s);
    scenario_close(&s);
    return failing_disarm();
}

void fault_run_all(const scenario_list *list, failing_kind kind, int how, const char *name,
                   fault_points points)
{
    fixture *f = fault_fixture();
    long failed = 0;

    for (long nth = 1; run_once(f, list, kind, nth, how); nth = fault_next_point(nth, points))
        failed++;
    printf("# life cycle, %s: %ld points failed\n", name, failed);
    assert_true(failed > 0);
}

/* ---- making the schema ---- */

static void check_deployed(fixture *f, pawl_status st, const pawl_error *err)
{
    bool there = fixture_is_postgres(f)
                     ? fixture_count(f, "SELECT count(*) FROM pg_tables WHERE schemaname = '%s'",
                                     fixture_store_options(f)->schema) > 0
                     : fixture_count(f, "SELECT count(*) FROM sqlite_schema") > 0;

    if (st == PAWL_OK && !there)
        test_fail("deploying answered PAWL_OK after %s failed, and nothing is there",
                  failing_where());
    if (st != PAWL_OK && st != PAWL_E_IN_DOUBT && there)
        test_fail("deploying answered %s (%s) after %s failed, and tables are there",
                  pawl_status_name(st), err->message, failing_where());
}

/* A database of its own per run would stay until the test ends. */
static void remove_files(const char *path)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};

    for (size_t i = 0; i < COUNT_OF(endings); i++)
        unlink(test_note("%s%s", path, endings[i]));
}

/* Whether the call was reached. */
static bool deploy_once(failing_kind kind, long nth, int how)
{
    const fixture_options empty = {.no_schema = true, .real_clock = true};
    fixture *f = fixture_open(&empty);
    const char *path = fixture_is_postgres(f) ? NULL : fixture_url(f) + strlen("sqlite:");
    pawl_store_options opts = fault_store_options(f);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store = NULL;
    bool reached;
    pawl_status st;

    failing_arm(kind, nth, how);
    st = pawl_schema_deploy(fixture_url(f), &opts, NULL, &err);
    failing_pause();
    fault_wait_for_server(f);
    check_deployed(f, st, &err);
    failing_resume();
    if (st == PAWL_OK)
        st = pawl_store_open(fixture_url(f), &opts, &store, &err);
    reached = failing_disarm();
    if (st != PAWL_OK) {
        assert_null(store);
        opts.deploy_schema = true;
        assert_ok(pawl_store_open(fixture_url(f), &opts, &store, &err), &err);
    }
    pawl_store_close(store);
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {meta}"));
    fixture_close(f);
    if (path)
        remove_files(path);
    return reached;
}

void fault_deploy_all(failing_kind kind, int how, const char *name, fault_points points)
{
    long failed = 0;

    for (long nth = 1; deploy_once(kind, nth, how); nth = fault_next_point(nth, points))
        failed++;
    printf("# making the schema, %s: %ld points failed\n", name, failed);
    assert_true(failed > 0);
}

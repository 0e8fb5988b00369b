/* tests/fault/life.c - a whole life cycle of a queue, every call of which may fail once. */
#include "life.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "life_steps.h"

void life_clean(fixture *f)
{
    static const char *const tables[] = {"body",         "queue", "outcome", "claim",
                                         "topic",        "dead",  "lease",   "orders",
                                         "inbox_record", "job",   "job_run"};

    for (size_t i = 0; i < COUNT_OF(tables); i++)
        fixture_exec(f, "DELETE FROM {%s}", tables[i]);
    if (fixture_is_postgres(f))
        fixture_exec(f, "DELETE FROM {tally}; DELETE FROM {tally_delta}");
    else
        fixture_exec(f, "UPDATE {meta} SET latest_time = 0, boot_id = ''; "
                        "DELETE FROM {total}; UPDATE {tally} SET held = 0, paused = 0, dead = 0");
    fixture_set(f, FIXTURE_START);
}

static void check_error(const life_step *step, pawl_status st, const pawl_error *err)
{
    if (err->status != st || !err->message[0])
        test_fail("%s answered %s after %s failed, but the error says %s: \"%s\"", step->name,
                  pawl_status_name(st), failing_where(), pawl_status_name(err->status),
                  err->message);
}

/* How much of the step is in the tables: nothing, all, or (never) a part of it. */
static int64_t look(life *l, const life_step *step)
{
    int64_t there = fixture_count(l->f, "%s", step->effect);

    if (there != 0 && there != step->whole)
        test_fail("%s is there by %lld of %lld after %s failed", step->name, (long long)there,
                  (long long)step->whole, failing_where());
    return there;
}

static void judge(life *l, const life_step *step, pawl_status st, const pawl_error *err)
{
    int64_t there;
    const char *wrong;

    wrong = kit_check_note(l->f);
    if (wrong)
        test_fail("after %s, in which %s failed: %s", step->name, failing_where(), wrong);
    if (!step->effect)
        return;
    there = look(l, step);
    if (st == PAWL_OK && there == 0)
        test_fail("%s answered PAWL_OK after %s failed, and nothing is there", step->name,
                  failing_where());
    if (st != PAWL_OK && st != PAWL_E_IN_DOUBT && there != 0)
        test_fail("%s answered %s (%s) after %s failed, and everything is there", step->name,
                  pawl_status_name(st), err->message, failing_where());
}

static void repeat(life *l, const life_step *step)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_status st;

    l->faulted = false;
    if (step->prepare)
        step->prepare(l);
    st = step->call(l, &err);
    if (step->settle)
        st = step->settle(l, st);
    if (st != PAWL_OK)
        test_fail("%s does not recover after %s failed: %s", step->name, failing_where(),
                  err.message);
    if (step->effect && look(l, step) == 0)
        test_fail("%s was repeated after %s failed, and nothing is there", step->name,
                  failing_where());
}

void life_wait_for_server(fixture *f)
{
    int backend = failing_cut_backend();

    while (backend != 0 &&
           fixture_count(f, "SELECT count(*) FROM pg_stat_activity WHERE pid = %d", backend) > 0)
        continue;
}

static void live_step(life *l, const life_step *step)
{
    pawl_error err = PAWL_ERROR_INIT;
    bool happened_before = failing_happened();
    pawl_status st;

    if (step->prepare)
        step->prepare(l);
    failing_resume();
    st = step->call(l, &err);
    failing_pause();
    l->faulted = failing_happened() != happened_before;
    if (l->faulted)
        life_wait_for_server(l->f);
    if (st != PAWL_OK)
        check_error(step, st, &err);
    if (step->settle)
        st = step->settle(l, st);
    if (!l->faulted && st == PAWL_OK)
        return;
    judge(l, step, st, &err);
    if (st != PAWL_OK && (!step->effect || look(l, step) == 0))
        repeat(l, step);
}

static void check_end(life *l, const char *expected)
{
    const char *end = fixture_text(
        l->f,
        "SELECT %s FROM (SELECT correlation_id || ':' || state || '/' || retries AS one"
        " FROM {message} ORDER BY correlation_id) AS list",
        fixture_is_postgres(l->f) ? "string_agg(one, ' ')" : "group_concat(one, ' ')");

    end = end ? end : "";
    if (strcmp(end, expected) != 0)
        test_fail("life ended with \"%s\" after %s failed, not with \"%s\"", end, failing_where(),
                  expected);
    kit_check(l->f);
}

/* However the test ends. */
static void bury(void *argument)
{
    life *l = argument;

    pawl_tx_free(l->tx);
    pawl_arrival_free(l->arrival);
    pawl_store_close(l->store);
    memset(l, 0, sizeof *l);
}

bool life_run(fixture *f, const life_story *story, failing_kind kind, long nth, int how)
{
    static life l;

    l = (life){.f = f};
    test_defer(bury, &l);
    life_clean(f);
    failing_arm(kind, nth, how);
    failing_pause();
    for (const life_step *step = story->steps; step->name; step++)
        live_step(&l, step);
    check_end(&l, story->end);
    failing_resume();
    test_defer_cancel(&l);
    bury(&l);
    return failing_disarm();
}

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

/* A database of its own per life would stay until the test ends. */
static void remove_files(const char *path)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};

    for (size_t i = 0; i < COUNT_OF(endings); i++)
        unlink(test_note("%s%s", path, endings[i]));
}

bool life_deploy(failing_kind kind, long nth, int how)
{
    const fixture_options empty = {.no_schema = true, .real_clock = true};
    fixture *f = fixture_open(&empty);
    const char *path = fixture_is_postgres(f) ? NULL : fixture_url(f) + strlen("sqlite:");
    pawl_store_options opts = life_options(f);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store = NULL;
    bool reached;
    pawl_status st;

    failing_arm(kind, nth, how);
    st = pawl_schema_deploy(fixture_url(f), &opts, NULL, &err);
    failing_pause();
    life_wait_for_server(f);
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

long life_next_point(long nth, long dense, long stride)
{
    return nth < dense ? nth + 1 : nth + stride;
}

void life_run_all(const life_story *story, failing_kind kind, int how, const char *name, long dense,
                  long stride)
{
    fixture *f = fixture_open(NULL);
    long points = 0;

    fixture_exec(f, "CREATE TABLE {orders} (n integer)");
    for (long nth = 1; life_run(f, story, kind, nth, how);
         nth = life_next_point(nth, dense, stride))
        points++;
    printf("# life cycle, %s: %ld points failed\n", name, points);
    assert_true(points > 0);
}

void life_deploy_all(failing_kind kind, int how, const char *name, long dense, long stride)
{
    long points = 0;

    for (long nth = 1; life_deploy(kind, nth, how); nth = life_next_point(nth, dense, stride))
        points++;
    printf("# making the schema, %s: %ld points failed\n", name, points);
    assert_true(points > 0);
}

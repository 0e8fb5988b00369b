/* tests/conformance/job_sql_test.c - jobs in PostgreSQL's own words: functions, views, roles. */
#include "job_fixture.h"

#include <string.h>

PAWL_TEST(the_views_show_names_not_codes)
{
    fixture *f = fixture_open(NULL);

    job_add(f, "j", "* * * * *");
    job_tick(f);
    job_after(f, MINUTE_MS);
    assert_string_equal("ready", fixture_text(f, "SELECT status FROM {job_runs}"));
    assert_int_equal(FIXTURE_START.us + 60000000,
                     fixture_count(f, "SELECT {us:scheduled_time} FROM {job_runs}"));
    job_work(f);
    assert_string_equal("done",
                        fixture_text(f, "SELECT last_run_status FROM {jobs} WHERE job_name = 'j'"));
    assert_int_equal(FIXTURE_START.us + 120000000,
                     fixture_count(f, "SELECT {us:next_due_time} FROM {jobs}"));
    assert_int_equal(0, fixture_count(f, "SELECT retry_count FROM {job_runs}"));
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {job_runs} WHERE end_time IS NOT "
                                         "NULL AND start_time IS NOT NULL AND job_name = 'j'"));
}

PAWL_TEST(a_manual_schema_change_is_detected)
{
    fixture *f = fixture_open(NULL);

    job_add(f, "j", "@daily");
    job_tick(f);
    fixture_exec(f, "UPDATE {job} SET schedule = '* * * * *' WHERE name = 'j'");
    job_tick(f);
    assert_time(FIXTURE_START.us + 60000000, job_get(f, "j")->next_due_at);
    fixture_exec(f, "UPDATE {job} SET enabled = %s WHERE name = 'j'",
                 fixture_is_postgres(f) ? "false" : "0");
    assert_int_equal(0, job_after(f, HOUR_MS).runs);
    fixture_exec(f, "UPDATE {job} SET enabled = %s WHERE name = 'j'",
                 fixture_is_postgres(f) ? "true" : "1");
    assert_int_equal(0, job_tick(f).skips);
    assert_int_equal(1, job_after(f, MINUTE_MS).runs);
    fixture_exec(f, "DELETE FROM {job} WHERE name = 'j'");
    assert_int_equal(0, job_after(f, MINUTE_MS).runs);
}

PAWL_TEST_ON(postgres, jobs_by_functions)
{
    fixture *f = fixture_open(NULL);

    assert_int_equal(1, fixture_count(f, "SELECT {job_put}('f', 'every 5m', 't', 'hello')"));
    assert_int_equal(0, fixture_count(f, "SELECT {job_put}('f', ' every 5m ', 't', '{}'::text, "
                                         "overlap => 'queue', timeout => '1 minute')"));
    assert_int_equal(60000, job_get(f, "f")->definition->timeout_ms);
    job_tick(f);
    assert_int_equal(1, job_after(f, 5 * MINUTE_MS).runs);
    int64_t run = fixture_count(f, "SELECT {job_trigger}('f')");
    assert_int_equal(run, job_last_run(f, "f")->id);
    assert_int_equal(PAWL_RUN_WAITING, job_last_run(f, "f")->state);
    assert_true(fixture_refuses(f, "SELECT {job_trigger}('f')"));
    assert_false(fixture_refuses(f, "SELECT {job_trigger}('f', forced => true)"));
    assert_true(fixture_refuses(f, "SELECT {job_trigger}('g')"));
    /* Any claimer makes history. */
    fixture_exec(f, "SELECT {claim}('00000000-0000-0000-0000-0000000000aa', max_rows => 10, "
                    "owner_name => 'psql')");
    assert_string_equal("psql",
                        fixture_text(f, "SELECT claimed_by FROM {job_run} WHERE state = 1"));
    fixture_exec(f, "SELECT {ack}('00000000-0000-0000-0000-0000000000aa', array_agg(id), "
                    "array_agg(fence)) FROM {queue} WHERE fence <> 0");
    assert_int_equal(1, job_tick(f).started);
    assert_int_equal(1, fixture_count(f, "SELECT {job_disable}('f')"));
    assert_int_equal(0, fixture_count(f, "SELECT {job_disable}('f')"));
    assert_int_equal(1, fixture_count(f, "SELECT {job_enable}('f')"));
    assert_int_equal(1, fixture_count(f, "SELECT {job_delete}('f')"));
    assert_true(fixture_refuses(f, "SELECT {job_delete}('f')"));
    assert_true(fixture_refuses(f, "SELECT {job_put}('f', '@daily', 't', overlap => 'x')"));
    assert_true(fixture_refuses(f, "SELECT {job_put}('', '@daily', 't')"));
    assert_true(fixture_refuses(f, "SELECT {job_put}('f', '@daily', 't', lease => '1s')"));
}

PAWL_TEST_ON(postgres, the_worker_role_may_schedule_and_the_sender_role_may_not)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store = NULL;
    pawl_job_definition job = job_define("j", "* * * * *");
    static const char *const roles[] = {"pawl_send", "pawl_work"};

    for (size_t i = 0; i < COUNT_OF(roles); i++) {
        const char *name =
            test_note("pawl_test_job_%s_%s", roles[i], fixture_store_options(f)->schema);
        fixture_exec(f, "CREATE ROLE %s LOGIN", name);
        fixture_exec(f, "GRANT %s TO %s", roles[i], name);
        assert_ok(pawl_store_open(test_note("%s user=%s", fixture_url(f), name),
                                  fixture_store_options(f), &store, &err),
                  &err);
        if (i == 0) {
            assert_status(PAWL_E_DENIED, pawl_job_put(store, &job, NULL, &err), &err);
            assert_status(PAWL_E_DENIED, pawl_job_tick(store, NULL, &err), &err);
        } else {
            pawl_messages *list = NULL;
            pawl_runs *runs = NULL;
            assert_ok(pawl_job_put(store, &job, NULL, &err), &err);
            job_tick_on(store);
            fixture_advance(f, MINUTE_MS);
            assert_int_equal(1, job_tick_on(store).runs);
            assert_ok(pawl_queue_claim(store, queue_owner(1), MINUTE_MS, 1, NULL, &list, &err),
                      &err);
            pawl_receipt receipt = fixture_receipt(list, 0);
            assert_ok(pawl_queue_ack_output(store, queue_owner(1), receipt, "o", 1, &err), &err);
            pawl_messages_free(list);
            assert_ok(pawl_job_trigger(store, "j", NULL, NULL, &err), &err);
            assert_ok(pawl_run_list(store, "j", NULL, &runs, NULL, &err), &err);
            assert_int_equal(2, pawl_runs_count(runs));
            pawl_runs_free(runs);
            assert_ok(pawl_job_disable(store, "j", NULL, &err), &err);
            assert_ok(pawl_job_clean(store, NULL, NULL, &err), &err);
            assert_ok(pawl_job_delete(store, "j", NULL, &err), &err);
        }
        pawl_store_close(store);
        fixture_exec(f, "DROP ROLE %s", name);
    }
}

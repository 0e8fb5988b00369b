/* tests/conformance/job_history_test.c - the contents and retention of a job's history. */
#include "job_fixture.h"

#include <string.h>

PAWL_TEST(a_run_is_followed_through_its_attempts)
{
    fixture *f = fixture_open(NULL);
    pawl_claim_options by = PAWL_CLAIM_OPTIONS_INIT;
    pawl_owner owner = queue_owner(1);

    by.owner_name = "ada";
    job_add(f, "j", "* * * * *");
    job_tick(f);
    job_after(f, MINUTE_MS);
    const pawl_run *run = job_last_run(f, "j");
    assert_int_equal(0, run->attempts);
    assert_time(0, run->started_at);
    assert_time(FIXTURE_START.us + 60000000, run->created_at);
    assert_string_equal("j", run->job);
    assert_false(run->triggered);
    fixture_advance(f, SECOND_MS);
    pawl_messages *list = queue_claim(f, owner, 30 * SECOND_MS, 10, &by);
    int64_t started = fixture_now(f).us;
    run = job_last_run(f, "j");
    assert_int_equal(PAWL_RUN_RUNNING, run->state);
    assert_string_equal("ada", run->claimed_by);
    assert_int_equal(1, run->attempts);
    assert_time(started, run->started_at);
    fixture_advance(f, SECOND_MS);
    assert_int_equal(1, queue_release(f, owner, list));
    run = job_last_run(f, "j");
    assert_int_equal(PAWL_RUN_READY, run->state);
    assert_int_equal(0, run->attempts); /* not counted */
    by.owner_name = "bob";
    list = queue_claim(f, owner, 30 * SECOND_MS, 10, &by);
    assert_int_equal(1, queue_abandon(f, owner, list, "not yet", 1000));
    run = job_last_run(f, "j");
    assert_int_equal(PAWL_RUN_READY, run->state);
    assert_int_equal(1, run->attempts);
    assert_string_equal("not yet", run->error);
    fixture_advance(f, 2 * SECOND_MS);
    assert_int_equal(1, pawl_messages_count(queue_claim(f, owner, 30 * SECOND_MS, 10, &by)));
    fixture_advance(f, 3 * MINUTE_MS);
    assert_int_equal(1, queue_reap(f));
    run = job_last_run(f, "j");
    assert_int_equal(PAWL_RUN_READY, run->state);
    assert_int_equal(2, run->attempts);
    assert_string_equal("the lease expired", run->error);
    list = queue_claim(f, owner, 30 * SECOND_MS, 10, &by);
    int64_t claimed = fixture_now(f).us;
    fixture_advance(f, SECOND_MS);
    assert_int_equal(1, queue_ack(f, owner, list));
    run = job_last_run(f, "j");
    assert_int_equal(PAWL_RUN_DONE, run->state);
    assert_int_equal(3, run->attempts);
    assert_time(started, run->started_at);
    assert_time(claimed, run->claimed_at);
    assert_time(fixture_now(f).us, run->ended_at);
    assert_string_equal("bob", run->claimed_by);
    assert_int_equal(PAWL_RUN_DONE, job_get(f, "j")->last_run_state);
    assert_time(started, job_get(f, "j")->last_run_at);
}

PAWL_TEST(a_failed_run_can_be_retried)
{
    fixture *f = fixture_open(NULL);
    pawl_owner owner = queue_owner(1);

    job_add(f, "j", "* * * * *");
    job_tick(f);
    job_after(f, MINUTE_MS);
    assert_int_equal(1, queue_fail(f, owner, job_claim(f), "broken"));
    const pawl_run *run = job_last_run(f, "j");
    assert_int_equal(PAWL_RUN_FAILED, run->state);
    assert_string_equal("broken", run->error);
    assert_int_equal(1, run->attempts);
    assert_int_equal(1, queue_retry(f, run->work_id));
    run = job_last_run(f, "j");
    assert_int_equal(PAWL_RUN_READY, run->state);
    assert_time(0, run->ended_at);
    assert_int_equal(1, job_after(f, MINUTE_MS).skips); /* it is unfinished again */
    assert_int_equal(1, job_work(f));
    assert_string_equal("done@60 overlap@120", job_story(f, "j"));
    queue_check(f);
}

PAWL_TEST(the_output_of_a_handler_is_kept)
{
    fixture *f = fixture_open(NULL);
    pawl_owner owner = queue_owner(1);
    pawl_error err = PAWL_ERROR_INIT;
    static const char big[PAWL_OUTPUT_MAX + 1];

    job_add(f, "j", "* * * * *");
    job_tick(f);
    job_after(f, MINUTE_MS);
    pawl_messages *list = job_claim(f);
    pawl_receipt receipt = fixture_receipt(list, 0);
    assert_status(PAWL_E_TOO_LARGE,
                  pawl_queue_ack_output(fixture_store(f), owner, receipt, big, sizeof big, &err),
                  &err);
    assert_ok(pawl_queue_ack_output(fixture_store(f), owner, receipt, "a\0b", 3, &err), &err);
    const pawl_run *run = job_last_run(f, "j");
    assert_int_equal(PAWL_RUN_DONE, run->state);
    assert_int_equal(3, run->output_size);
    assert_memory_equal("a\0b", run->output, 4);
    size_t size = 0;
    const pawl_message *message = queue_get(f, receipt.id);
    assert_memory_equal("a\0b", pawl_message_output(message, &size), 3);
    assert_int_equal(3, size);
    assert_status(PAWL_E_LOST,
                  pawl_queue_ack_output(fixture_store(f), owner, receipt, "x", 1, &err), &err);
    queue_check(f);
}

PAWL_TEST(output_travels_with_effect_once)
{
    fixture *f = fixture_open(NULL);
    pawl_owner owner = queue_owner(1);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_tx *tx = NULL;

    fixture_send(f, "t", "x"); /* any message */
    pawl_messages *list = job_claim(f);
    pawl_receipt receipt = fixture_receipt(list, 0);
    assert_ok(pawl_tx_begin_for(fixture_store(f), owner, receipt, &tx, &err), &err);
    assert_ok(pawl_tx_output(tx, "first", 5, &err), &err);
    assert_ok(pawl_tx_output(tx, "last", 4, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_tx_output(tx, NULL, 4, &err), &err);
    assert_ok(pawl_tx_commit_with_ack(tx, &err), &err);
    pawl_tx_free(tx);
    size_t size = 0;
    assert_memory_equal("last", pawl_message_output(queue_get(f, receipt.id), &size), 5);
    assert_int_equal(4, size);
    assert_int_equal(PAWL_STATE_DONE, fixture_state(f, receipt.id));
}

PAWL_TEST(history_outlives_the_messages)
{
    fixture *f = fixture_open(NULL);

    job_add(f, "j", "@daily");
    job_tick(f);
    job_after(f, DAY_MS);
    job_work(f);
    fixture_advance(f, 2 * DAY_MS);
    assert_int_equal(1, queue_prune(f, DAY_MS));
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {body}"));
    assert_string_equal("done@86400", job_story(f, "j"));
    assert_true(job_last_run(f, "j")->work_id.value > 0);
}

static size_t clean(fixture *f)
{
    pawl_error err = PAWL_ERROR_INIT;
    size_t removed = 0;

    assert_ok(pawl_job_clean(fixture_store(f), &removed, NULL, &err), &err);
    return removed;
}

PAWL_TEST(history_is_kept_by_count_runs_and_skips_apart)
{
    fixture *f = fixture_open(NULL);
    pawl_job_definition job = job_define("j", "* * * * *");

    job.keep_runs = 2;
    job_put(f, &job);
    job_tick(f);
    for (int i = 0; i < 4; i++) { /* a run, then a skip, four times */
        job_after(f, MINUTE_MS);
        pawl_messages *list = job_claim(f);
        job_after(f, MINUTE_MS);
        queue_ack(f, queue_owner(1), list);
    }
    job_after(f, MINUTE_MS); /* unfinished */
    fixture_advance(f, MINUTE_MS);
    assert_int_equal(5, clean(f));
    assert_string_equal("overlap@360 done@420 overlap@480 ready@540", job_story(f, "j"));
    assert_int_equal(0, clean(f));
    assert_time(FIXTURE_START.us + 540000000, job_get(f, "j")->last_occurrence_at);
}

PAWL_TEST(history_is_kept_by_age)
{
    fixture *f = fixture_open(NULL);
    pawl_job_definition job = job_define("j", "@daily");

    job.keep_ms = 3 * DAY_MS + HOUR_MS;
    job_put(f, &job);
    job_tick(f);
    for (int i = 0; i < 5; i++) {
        job_after(f, DAY_MS);
        job_work(f);
        (void)clean(f);
    }
    fixture_advance(f, MINUTE_MS);
    (void)clean(f);
    assert_string_equal("done@172800 done@259200 done@345600 done@432000", job_story(f, "j"));
    pawl_error err = PAWL_ERROR_INIT;
    assert_ok(pawl_job_disable(fixture_store(f), "j", NULL, &err), &err);
    fixture_advance(f, 30 * DAY_MS);
    assert_int_equal(4, clean(f)); /* nothing of it changes any more */
    fixture_advance(f, 30 * DAY_MS);
    assert_int_equal(0, clean(f));
}

PAWL_TEST(runs_are_listed_in_pages_and_by_state)
{
    fixture *f = fixture_open(NULL);
    pawl_run_filter filter = PAWL_RUN_FILTER_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_runs *page = NULL;
    pawl_page next = PAWL_PAGE_INIT;
    int pages = 0, seen = 0;

    job_add(f, "a", "* * * * *");
    job_add(f, "b", "* * * * *");
    job_tick(f);
    for (int i = 0; i < 5; i++)
        job_after(f, MINUTE_MS); /* each: one ready, four skipped */
    filter.states = 1u << PAWL_RUN_SKIPPED;
    filter.limit = 3;
    do {
        filter.after = next;
        assert_ok(pawl_run_list(fixture_store(f), "a", &filter, &page, &next, &err), &err);
        for (size_t i = 0; i < pawl_runs_count(page); i++, seen++)
            assert_string_equal("a", pawl_runs_at(page, i)->job);
        pawl_runs_free(page);
        pages++;
    } while (!PAWL_PAGE_IS_NONE(next));
    assert_int_equal(4, seen);
    assert_int_equal(2, pages);
    filter = (pawl_run_filter)PAWL_RUN_FILTER_INIT;
    assert_ok(pawl_run_list(fixture_store(f), NULL, &filter, &page, &next, &err), &err);
    assert_int_equal(10, pawl_runs_count(page));
    assert_true(PAWL_PAGE_IS_NONE(next));
    pawl_runs_free(page);
}

PAWL_TEST(names_of_states)
{
    assert_string_equal("waiting", pawl_run_state_name(PAWL_RUN_WAITING));
    assert_string_equal("skipped", pawl_run_state_name(PAWL_RUN_SKIPPED));
    assert_string_equal("unknown", pawl_run_state_name((pawl_run_state)PAWL_RUN_STATE_COUNT));
    assert_string_equal("misfire", pawl_run_reason_name(PAWL_RUN_MISFIRE));
    assert_string_equal("queue", pawl_overlap_name(PAWL_OVERLAP_QUEUE));
    assert_string_equal("all", pawl_misfire_name(PAWL_MISFIRE_ALL));
}

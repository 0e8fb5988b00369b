/* tests/conformance/job_test.c - jobs: created, changed, scheduled, triggered, deleted. */
#include "job_fixture.h"

#include <string.h>

PAWL_TEST(a_job_runs_when_its_occurrence_comes)
{
    fixture *f = fixture_open(NULL);

    job_add(f, "minutely", "* * * * *");
    assert_int_equal(0, job_tick(f).runs);
    assert_time(FIXTURE_START.us + 60000000, job_get(f, "minutely")->next_due_at);
    assert_int_equal(0, job_after(f, 59 * SECOND_MS).runs);
    assert_int_equal(1, job_after(f, SECOND_MS).runs);
    assert_string_equal("ready@60", job_story(f, "minutely"));
    assert_int_equal(0, job_tick(f).runs);
    pawl_messages *list = job_claim(f);
    assert_int_equal(1, pawl_messages_count(list));
    assert_string_equal("p", queue_payload(pawl_messages_at(list, 0)));
    assert_string_equal("running@60", job_story(f, "minutely"));
    assert_int_equal(1, queue_ack(f, queue_owner(1), list));
    assert_string_equal("done@60", job_story(f, "minutely"));
    assert_int_equal(1, job_after(f, MINUTE_MS).runs);
    assert_string_equal("done@60 ready@120", job_story(f, "minutely"));
    queue_check(f);
}

PAWL_TEST(a_run_has_the_jobs_message_and_its_own_metadata)
{
    fixture *f = fixture_open(NULL);
    pawl_job_definition job = job_define("mail", "@hourly");

    job.topic = "mail/out";
    job.headers = "{\"a\":\"b\",\"pawl-job\":\"x\",\"n\":null}";
    job.correlation_id = "c-1";
    job.priority = 3;
    job.type = PAWL_TYPE_COMMAND;
    job.max_attempts = 4;
    job.timeout_ms = 5000;
    job.lease_ms = 60000;
    job.heartbeat_ms = 20000;
    job.ttl_ms = 600000;
    job_put(f, &job);
    job_tick(f);
    job_after(f, HOUR_MS);
    pawl_messages *list = job_claim(f);
    const pawl_message *message = pawl_messages_at(list, 0);
    const pawl_run *run = job_last_run(f, "mail");
    assert_non_null(message);
    assert_string_equal("mail/out", pawl_message_topic(message));
    assert_string_equal("c-1", pawl_message_correlation_id(message));
    assert_int_equal(3, pawl_message_priority(message));
    assert_int_equal(PAWL_TYPE_COMMAND, pawl_message_type(message));
    assert_int_equal(4, pawl_message_max_attempts(message));
    assert_int_equal(5000, pawl_message_timeout_ms(message));
    assert_int_equal(20000, pawl_message_heartbeat_ms(message));
    assert_time(fixture_now(f).us + 60000000, pawl_message_lease_until(message));
    assert_time(fixture_now(f).us + 600000000, pawl_message_expires_at(message));
    assert_int_equal(run->id, pawl_message_run_id(message));
    const char *headers = pawl_message_headers(message);
    assert_non_null(strstr(headers, "\"b\""));
    assert_non_null(strstr(headers, "\"mail\""));
    assert_non_null(strstr(headers, "\"2026-01-01T01:00:00Z\""));
    assert_non_null(strstr(headers, test_note("\"%d\"", (int)run->id)));
    assert_null(strstr(headers, "\"x\""));
    assert_int_equal(pawl_message_work_id(message).value, run->work_id.value);
    assert_true(pawl_uuid_equal(pawl_message_id(message), run->message_id));
}

PAWL_TEST(put_keeps_the_next_occurrence_of_the_same_schedule_only)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_job_definition job = job_define("j", "every 1h");
    bool created = false;

    assert_ok(pawl_job_put(fixture_store(f), &job, &created, &err), &err);
    assert_true(created);
    job_tick(f);
    fixture_advance(f, 30 * MINUTE_MS);
    job.payload = "other";
    job.payload_size = 5;
    assert_ok(pawl_job_put(fixture_store(f), &job, &created, &err), &err);
    assert_false(created);
    job_tick(f);
    assert_time(FIXTURE_START.us + HOUR_MS * 1000, job_get(f, "j")->next_occurrence_at);
    assert_memory_equal("other", job_get(f, "j")->definition->payload, 5);
    job.schedule = "every 2h"; /* from now on */
    job_put(f, &job);
    assert_time(FIXTURE_START.us + 150 * MINUTE_MS * 1000, job_get(f, "j")->next_occurrence_at);
    job_tick(f);
    assert_time(FIXTURE_START.us + 150 * MINUTE_MS * 1000, job_get(f, "j")->next_occurrence_at);
    assert_int_equal(0, job_after(f, 119 * MINUTE_MS).runs);
    assert_int_equal(1, job_after(f, MINUTE_MS).runs);
}

PAWL_TEST(another_schedule_never_repeats_an_occurrence)
{
    fixture *f = fixture_open(NULL);

    job_add(f, "j", "0 1 * * *");
    job_tick(f);
    job_after(f, HOUR_MS);
    assert_int_equal(1, job_work(f));
    fixture_set(f, FIXTURE_START); /* SQLite never shows less than it has written */
    job_add(f, "j", "0 * * * *");
    job_tick(f);
    /* Where the clock goes back, the job goes by it: the next occurrence is one that has run. */
    assert_time(FIXTURE_START.us + (fixture_is_postgres(f) ? 1 : 2) * HOUR_MS * 1000,
                job_get(f, "j")->next_occurrence_at);
    fixture_set(f, (pawl_wall){FIXTURE_START.us + HOUR_MS * 1000});
    assert_int_equal(0, job_tick(f).runs);
    assert_int_equal(1, job_after(f, HOUR_MS).runs);
    assert_string_equal("done@3600 ready@7200", job_story(f, "j"));
}

PAWL_TEST(every_does_not_drift)
{
    fixture *f = fixture_open(NULL);

    job_add(f, "j", "every 10s");
    for (int i = 0; i < 5; i++) {
        job_after(f, 10 * SECOND_MS + 700); /* the scheduler is late each time */
        job_work(f);
    }
    assert_string_equal("done@10 done@20 done@30 done@40 done@50", job_story(f, "j"));
}

PAWL_TEST(a_job_inserted_with_sql_works)
{
    fixture *f = fixture_open(NULL);

    fixture_exec(f, "INSERT INTO {job} (name, schedule, topic, payload) "
                    "VALUES ('seed', 'every 5m', 'seeded', 'hello')");
    assert_time(FIXTURE_START.us + 300000000, job_get(f, "seed")->next_due_at);
    assert_time(0, job_get(f, "seed")->created_at);
    job_tick(f);
    const pawl_job *job = job_get(f, "seed");
    assert_time(FIXTURE_START.us, job->created_at);
    assert_int_equal(120000, job->definition->lease_ms);
    assert_int_equal(30000, job->definition->heartbeat_ms);
    assert_int_equal(60000, job->definition->misfire_grace_ms);
    assert_int_equal(100, job->definition->misfire_cap);
    assert_int_equal(100, job->definition->keep_runs);
    job_after(f, 5 * MINUTE_MS);
    pawl_messages *list = job_claim(f);
    assert_int_equal(1, pawl_messages_count(list));
    assert_string_equal("hello", queue_payload(pawl_messages_at(list, 0)));
    assert_string_equal("seeded", pawl_message_topic(pawl_messages_at(list, 0)));
}

PAWL_TEST(an_invalid_job_is_skipped_and_does_not_stop_other_jobs)
{
    fixture *f = fixture_open(NULL);

    fixture_exec(f,
                 "INSERT INTO {job} (name, schedule, topic) VALUES ('a bad', '61 * * * *', 't')");
    fixture_exec(f, "INSERT INTO {job} (name, schedule, zone, topic) "
                    "VALUES ('b bad', '@daily', 'Europe/Nowhere', 't')");
    job_add(f, "good", "* * * * *");
    assert_non_null(strstr(job_get(f, "a bad")->problem, "61")); /* before any tick */
    assert_int_equal(2, job_tick(f).problems);
    assert_non_null(strstr(job_get(f, "b bad")->problem, "Europe/Nowhere"));
    assert_time(0, job_get(f, "a bad")->next_due_at);
    assert_null(job_get(f, "good")->problem);
    assert_int_equal(1, job_after(f, MINUTE_MS).runs);
    assert_int_equal(0, job_after(f, 0).problems);
    fixture_exec(f, "UPDATE {job} SET schedule = '*/2 * * * *' WHERE name = 'a bad'");
    job_tick(f);
    assert_null(job_get(f, "a bad")->problem);
    assert_time(FIXTURE_START.us + 120000000, job_get(f, "a bad")->next_due_at);
    assert_true(fixture_logged(f, PAWL_LOG_WARNING, "cannot be scheduled"));
}

PAWL_TEST(disabled_jobs_do_not_run_and_missed_occurrences_are_no_misfires)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    bool changed = false;

    job_add(f, "j", "* * * * *");
    job_tick(f);
    assert_int_equal(1, job_after(f, MINUTE_MS).runs);
    assert_ok(pawl_job_disable(fixture_store(f), "j", &changed, &err), &err);
    assert_true(changed);
    assert_ok(pawl_job_disable(fixture_store(f), "j", &changed, &err), &err);
    assert_false(changed);
    assert_int_equal(0, job_after(f, HOUR_MS).runs);
    assert_false(job_get(f, "j")->enabled);
    assert_time(0, job_get(f, "j")->next_due_at);
    assert_int_equal(1, job_work(f)); /* the run that was there continues */
    assert_ok(pawl_job_enable(fixture_store(f), "j", &changed, &err), &err);
    assert_true(changed);
    assert_int_equal(0, job_tick(f).skips);
    assert_int_equal(1, job_after(f, MINUTE_MS).runs);
    assert_string_equal("done@60 ready@3720", job_story(f, "j"));
    assert_status(PAWL_E_NOT_FOUND, pawl_job_enable(fixture_store(f), "k", NULL, &err), &err);
}

PAWL_TEST(a_new_job_may_be_disabled_and_put_does_not_enable_it)
{
    fixture *f = fixture_open(NULL);
    pawl_job_definition job = job_define("j", "* * * * *");

    job.disabled = true;
    job_put(f, &job);
    assert_false(job_get(f, "j")->enabled);
    job.disabled = false;
    job_put(f, &job);
    assert_false(job_get(f, "j")->enabled);
    assert_int_equal(0, job_after(f, HOUR_MS).runs);
}

PAWL_TEST(triggering_runs_now_and_leaves_the_schedule)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_job_trigger_options force = PAWL_JOB_TRIGGER_OPTIONS_INIT;

    job_add(f, "j", "@hourly");
    job_tick(f);
    fixture_advance(f, MINUTE_MS);
    pawl_job_triggered triggered = job_trigger(f, "j");
    assert_false(triggered.waiting);
    assert_time(FIXTURE_START.us + HOUR_MS * 1000, job_get(f, "j")->next_occurrence_at);
    assert_status(PAWL_E_BUSY, pawl_job_trigger(fixture_store(f), "j", NULL, NULL, &err), &err);
    assert_says(&err, test_note("run %d", (int)triggered.run_id));
    force.force = true;
    assert_ok(pawl_job_trigger(fixture_store(f), "j", &force, NULL, &err), &err);
    pawl_messages *list = job_claim(f);
    assert_int_equal(2, pawl_messages_count(list));
    assert_true(pawl_uuid_equal(triggered.message_id, pawl_message_id(pawl_messages_at(list, 0))));
    assert_null(strstr(pawl_message_headers(pawl_messages_at(list, 0)), "pawl-scheduled-at"));
    queue_ack(f, queue_owner(1), list);
    assert_string_equal("t-done@60 t-done@60", job_story(f, "j"));
    assert_ok(pawl_job_disable(fixture_store(f), "j", NULL, &err), &err);
    assert_true(job_trigger(f, "j").run_id > triggered.run_id);
    assert_status(PAWL_E_NOT_FOUND, pawl_job_trigger(fixture_store(f), "k", NULL, NULL, &err),
                  &err);
}

PAWL_TEST(deleting_cancels_runs_that_have_not_begun)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_job_definition job = job_define("j", "* * * * *");
    size_t cancelled = 0;

    job.overlap = PAWL_OVERLAP_ALLOW;
    job_put(f, &job);
    job_tick(f);
    job_after(f, MINUTE_MS);
    pawl_messages *running = job_claim(f);
    job_after(f, MINUTE_MS);
    job_after(f, MINUTE_MS);
    pawl_work_id pending = job_last_run(f, "j")->work_id;
    assert_ok(pawl_job_delete(fixture_store(f), "j", &cancelled, &err), &err);
    assert_int_equal(2, cancelled);
    assert_int_equal(PAWL_STATE_CANCELLED, fixture_state(f, pending));
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {job_run}"));
    assert_status(PAWL_E_NOT_FOUND, pawl_job_delete(fixture_store(f), "j", NULL, &err), &err);
    assert_int_equal(0, job_after(f, HOUR_MS).runs);
    fixture_set(f, (pawl_wall){FIXTURE_START.us + 3 * MINUTE_MS * 1000});
    assert_int_equal(1, queue_ack(f, queue_owner(1), running)); /* the running one ends */
    queue_check(f);
}

PAWL_TEST(jobs_are_listed_in_pages_by_name)
{
    fixture *f = fixture_open(NULL);
    pawl_job_filter filter = PAWL_JOB_FILTER_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_jobs *page = NULL;

    job_add(f, "b", "@daily");
    job_add(f, "A", "@daily");
    job_add(f, "ä", "@daily");
    filter.limit = 2;
    assert_ok(pawl_job_list(fixture_store(f), &filter, &page, &filter.after, &err), &err);
    assert_int_equal(2, pawl_jobs_count(page));
    assert_string_equal("A", pawl_jobs_at(page, 0)->name);
    assert_string_equal("b", pawl_jobs_at(page, 1)->name);
    assert_null(pawl_jobs_at(page, 0)->definition->payload);
    assert_time(FIXTURE_START.us, pawl_jobs_now(page));
    pawl_jobs_free(page);
    assert_string_equal("b", filter.after.text);
    assert_ok(pawl_job_list(fixture_store(f), &filter, &page, &filter.after, &err), &err);
    assert_int_equal(1, pawl_jobs_count(page));
    assert_true(PAWL_PAGE_IS_NONE(filter.after));
    assert_string_equal("ä", pawl_jobs_at(page, 0)->name);
    pawl_jobs_free(page);
    assert_status(PAWL_E_NOT_FOUND, pawl_job_get(fixture_store(f), "c", &page, &err), &err);
}

PAWL_TEST(a_job_that_was_read_can_be_stored_again)
{
    fixture *f = fixture_open(NULL);
    pawl_job_definition job = job_define("j", "30 2 * * MON-FRI");

    job.zone = "Europe/Berlin";
    job.destination = "https://example.org/";
    job.headers = "{\"k\": 1}";
    job.correlation_id = "c";
    job.priority = 9;
    job.type = PAWL_TYPE_PUSH_CALL;
    job.max_attempts = 7;
    job.backoff = (pawl_backoff){10, 20, 30};
    job.misfire = PAWL_MISFIRE_ALL;
    job.misfire_cap = 5;
    job.misfire_grace_ms = 1500;
    job.overlap = PAWL_OVERLAP_QUEUE;
    job.jitter_ms = 2500;
    job.ttl_ms = 3500;
    job.timeout_ms = 4500;
    job.lease_ms = 65500;
    job.heartbeat_ms = 5500;
    job.keep_runs = 11;
    job.keep_ms = 7 * DAY_MS;
    job_put(f, &job);
    const char *before = fixture_text(f, "SELECT schedule || zone || destination || headers || "
                                         "misfire || overlap || topic FROM {job}");
    job_put(f, job_get(f, "j")->definition);
    assert_string_equal(before,
                        fixture_text(f, "SELECT schedule || zone || destination || headers || "
                                        "misfire || overlap || topic FROM {job}"));
    const pawl_job_definition *read = job_get(f, "j")->definition;
    assert_string_equal("Europe/Berlin", read->zone);
    assert_string_equal("c", read->correlation_id);
    assert_int_equal(9, read->priority);
    assert_int_equal(PAWL_TYPE_PUSH_CALL, read->type);
    assert_int_equal(7, read->max_attempts);
    assert_memory_equal(&job.backoff, &read->backoff, sizeof job.backoff);
    assert_int_equal(PAWL_MISFIRE_ALL, read->misfire);
    assert_int_equal(5, read->misfire_cap);
    assert_int_equal(1500, read->misfire_grace_ms);
    assert_int_equal(PAWL_OVERLAP_QUEUE, read->overlap);
    assert_int_equal(2500, read->jitter_ms);
    assert_int_equal(3500, read->ttl_ms);
    assert_int_equal(4500, read->timeout_ms);
    assert_int_equal(65500, read->lease_ms);
    assert_int_equal(5500, read->heartbeat_ms);
    assert_int_equal(11, read->keep_runs);
    assert_int_equal(7 * DAY_MS, read->keep_ms);
    assert_int_equal(1, read->payload_size);
}

PAWL_TEST(switching_a_job_says_whether_that_was_a_change)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    bool changed = true;

    job_add(f, "j", "@hourly");
    assert_ok(pawl_job_enable(fixture_store(f), "j", &changed, &err), &err);
    assert_false(changed);
    assert_ok(pawl_job_disable(fixture_store(f), "j", &changed, &err), &err);
    assert_true(changed);
    assert_ok(pawl_job_disable(fixture_store(f), "j", &changed, &err), &err);
    assert_false(changed);
    assert_false(job_get(f, "j")->enabled);
    assert_ok(pawl_job_enable(fixture_store(f), "j", &changed, &err), &err);
    assert_true(changed);
    assert_status(PAWL_E_NOT_FOUND, pawl_job_enable(fixture_store(f), "no", &changed, &err), &err);
}

/* tests/conformance/job_test.c - jobs: created, changed, scheduled, triggered, deleted. */
#include "job_kit.h"

#include <string.h>

PAWL_TEST(a_job_runs_when_its_slot_comes)
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
    assert_string_equal("p", kit_payload(pawl_messages_at(list, 0)));
    assert_string_equal("running@60", job_story(f, "minutely"));
    assert_int_equal(1, kit_ack(f, kit_owner(1), list));
    assert_string_equal("done@60", job_story(f, "minutely"));
    assert_int_equal(1, job_after(f, MINUTE_MS).runs);
    assert_string_equal("done@60 ready@120", job_story(f, "minutely"));
    kit_check(f);
}

PAWL_TEST(a_run_carries_the_jobs_message_and_what_it_is)
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
    assert_true(pawl_message_id_equal(pawl_message_get_id(message), run->message_id));
}

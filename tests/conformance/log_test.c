/* tests/conformance/log_test.c - log records, and values that are never logged. */
#include "queue_fixture.h"

#include <string.h>

PAWL_TEST(sending_is_logged_with_topic_and_correlation)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("order.created", "x");

    message.correlation_id = "order-4711";
    queue_send(f, &message);
    assert_true(fixture_logged(f, PAWL_LOG_INFO, "order.created"));
    assert_true(fixture_logged(f, PAWL_LOG_INFO, "order-4711"));
}

PAWL_TEST(every_message_of_a_batch_is_logged)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec batch[2] = {queue_message("first topic", "x"),
                                  queue_message("second topic", "x")};

    assert_ok(pawl_outbox_enqueue_batch(fixture_store(f), batch, 2, NULL, &err), &err);
    assert_true(fixture_logged(f, PAWL_LOG_INFO, "first topic"));
    assert_true(fixture_logged(f, PAWL_LOG_INFO, "second topic"));
}

PAWL_TEST(claiming_is_logged_with_the_number_of_messages)
{
    fixture *f = fixture_open(NULL);

    for (int i = 0; i < 7; i++)
        fixture_send(f, "t", "x");
    fixture_log_clear(f);
    fixture_claim(f, queue_owner(1), MINUTE_MS, 10);
    assert_true(fixture_logged(f, PAWL_LOG_DEBUG, "claimed 7"));
}

PAWL_TEST(reaping_is_logged_with_the_number_of_messages)
{
    fixture *f = fixture_open(NULL);

    for (int i = 0; i < 3; i++)
        fixture_send(f, "t", "x");
    fixture_claim(f, queue_owner(1), SECOND_MS, 10);
    fixture_advance(f, MINUTE_MS);
    fixture_log_clear(f);
    assert_int_equal(3, queue_reap(f));
    assert_true(fixture_logged(f, PAWL_LOG_INFO, "reaped 3"));
}

/* The fixture checks every record (harness/log_check.h): these are the names of the fields. */
PAWL_TEST(records_of_the_queue_have_fields)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "x");

    message.correlation_id = "order-4711";
    message.destination = "billing";
    queue_send(f, &message);
    assert_true(fixture_logged_field(f, "enqueued", "topic", "t"));
    assert_true(fixture_logged_field(f, "enqueued", "destination", "billing"));
    assert_true(fixture_logged_field(f, "enqueued", "correlation_id", "order-4711"));
    fixture_send(f, "t", "x");
    fixture_claim(f, queue_owner(1), SECOND_MS, 10);
    assert_true(fixture_logged_field(f, "claimed", "count", "#1"));
    fixture_advance(f, MINUTE_MS);
    assert_int_equal(1, queue_reap(f));
    assert_true(fixture_logged_field(f, "reaped", "count", "#1"));
}

PAWL_TEST(records_of_leases_have_fields)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_lease_grant grant = {0};
    pawl_lease_force_options force = PAWL_LEASE_FORCE_OPTIONS_INIT;

    assert_ok(pawl_lease_acquire(fixture_store(f), "a lease", queue_owner(1), MINUTE_MS, "me",
                                 &grant, &err),
              &err);
    assert_true(fixture_logged_field(f, "took", "lease", "a lease"));
    assert_true(fixture_logged_field(f, "took", "owner", "me"));
    assert_true(fixture_logged_field(f, "took", "fence", "#1"));
    force.by = "an operator";
    assert_ok(pawl_lease_force_release(fixture_store(f), "a lease", &force, NULL, &err), &err);
    assert_true(fixture_logged_field(f, "released by force", "lease", "a lease"));
    assert_true(fixture_logged_field(f, "released by force", "released_by", "an operator"));
}

PAWL_TEST(records_of_jobs_have_fields)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_job_definition job = PAWL_JOB_DEFINITION_INIT;

    job.name = "a job";
    job.schedule = "every 1h";
    job.topic = "t";
    assert_ok(pawl_job_put(fixture_store(f), &job, NULL, &err), &err);
    assert_true(fixture_logged_field(f, "was created", "job", "a job"));
    assert_true(fixture_logged_field(f, "was created", "schedule", "every 1h"));
    assert_ok(pawl_job_trigger(fixture_store(f), "a job", NULL, NULL, &err), &err);
    assert_true(fixture_logged_field(f, "was triggered", "run_id", "#1"));
    assert_ok(pawl_job_disable(fixture_store(f), "a job", NULL, &err), &err);
    assert_true(fixture_logged_field(f, "was disabled", "job", "a job"));
}

PAWL_TEST(records_of_the_inbox_have_fields)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_inbox_task *task = NULL;

    for (int i = 0; i < 2; i++) {
        assert_ok(pawl_inbox_begin(fixture_store(f), "shop", "m-1", NULL, NULL, &task, &err), &err);
        if (i == 0)
            assert_ok(pawl_inbox_task_done(task, NULL, 0, &err), &err);
        pawl_inbox_task_free(task);
    }
    assert_true(fixture_logged_field(f, "processed from", "message_id", "m-1"));
    assert_true(fixture_logged_field(f, "processed from", "source", "shop"));
    assert_true(fixture_logged_field(f, "processed from", "attempt", "#1"));
    assert_true(fixture_logged_field(f, "duplicate", "source", "shop"));
}

PAWL_TEST(a_refused_message_is_not_logged_as_sent)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec message = queue_message("refused topic", "x");

    message.priority = 99;
    assert_status(PAWL_E_INVALID, pawl_outbox_enqueue(fixture_store(f), &message, NULL, &err),
                  &err);
    assert_false(fixture_logged(f, PAWL_LOG_INFO, "refused topic"));
}

PAWL_TEST(no_log_record_and_no_error_contains_a_payload)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec message = queue_message("t", "s3cr3t words");
    pawl_tx *tx;

    message.id = queue_id(1);
    queue_send(f, &message);
    queue_send(f, &message);
    message.payload = "s3cr3t other";
    assert_status(PAWL_E_CONFLICT, pawl_outbox_enqueue(fixture_store(f), &message, NULL, &err),
                  &err);
    assert_null(strstr(err.message, "s3cr3t"));
    for (int state = 0; state < PAWL_STATE_COUNT; state++)
        queue_make(f, test_note("%d", state), "s3cr3t", (pawl_state)state);
    tx = fixture_tx_begin(f, 0);
    assert_status(PAWL_E_CONFLICT, pawl_tx_enqueue(tx, &message, NULL, &err), &err);
    fixture_tx_commit(f, 0);
    fixture_advance(f, DAY_MS);
    queue_reap(f);
    queue_expire(f);
    queue_prune(f, 0);
    assert_true(fixture_log_count(f) > 5);
    for (size_t i = 0; i < fixture_log_count(f); i++)
        assert_null(strstr(fixture_log_at(f, i), "s3cr3t"));
}

static void count_record(void *context, const pawl_log_record *record)
{
    int *counts = context;

    counts[record->level]++;
}

PAWL_TEST(a_sink_gets_only_its_levels)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store_options opts = *fixture_store_options(f);
    pawl_message_spec message = queue_message("t", "x");
    int counts[4] = {0};

    for (int level = PAWL_LOG_DEBUG; level <= PAWL_LOG_ERROR; level++) {
        pawl_messages *list = NULL;
        pawl_store *store = NULL;

        memset(counts, 0, sizeof counts);
        opts.log = (pawl_log_sink){count_record, counts, (pawl_log_level)level};
        assert_ok(pawl_store_open(fixture_url(f), &opts, &store, &err), &err);
        assert_ok(pawl_outbox_enqueue(store, &message, NULL, &err), &err);
        assert_ok(pawl_queue_claim(store, queue_owner(1), MINUTE_MS, 1, NULL, &list, &err), &err);
        pawl_messages_free(list);
        pawl_store_close(store);
        for (int below = 0; below < level; below++)
            assert_int_equal(0, counts[below]);
        assert_int_equal(level <= PAWL_LOG_DEBUG, counts[PAWL_LOG_DEBUG] > 0);
        assert_int_equal(level <= PAWL_LOG_INFO, counts[PAWL_LOG_INFO] > 0);
        assert_int_equal(0, counts[PAWL_LOG_ERROR]);
    }
}

PAWL_TEST(log_levels_have_names)
{
    assert_string_equal("debug", pawl_log_level_name(PAWL_LOG_DEBUG));
    assert_string_equal("info", pawl_log_level_name(PAWL_LOG_INFO));
    assert_string_equal("warning", pawl_log_level_name(PAWL_LOG_WARNING));
    assert_string_equal("error", pawl_log_level_name(PAWL_LOG_ERROR));
}

/* tests/delivery/refused_result_test.c - a result that the database refuses for good stops nothing
 * else.
 */
#include "delivery_fixture.h"

#define MESSAGES 6

/* Send MESSAGES of a topic; the database will not let the one in the middle end. */
static pawl_work_id send_one_refused(delivery_fixture *d, const char *topic)
{
    pawl_work_id id = {0};

    for (int i = 0; i < MESSAGES; i++) {
        pawl_work_id sent = delivery_send(d, "peer", topic, "1");
        if (i == MESSAGES / 2)
            id = sent;
    }
    fixture_refuse(d->f, "outcome", "INSERT", test_note("NEW.id = %lld", (long long)id.value));
    return id;
}

static delivery_fixture *open_usual(void)
{
    delivery_fixture *d = delivery_open(NULL);

    delivery_start(d);
    return d;
}

PAWL_TEST(an_acknowledgement_that_is_refused_stops_no_other)
{
    delivery_fixture *d = open_usual();
    pawl_work_id id = send_one_refused(d, "ok");

    delivery_until(d, MESSAGES - 1, PAWL_STATE_DONE);
    delivery_send(d, "peer", "ok", "later");
    delivery_until(d, MESSAGES, PAWL_STATE_DONE);
    assert_int_equal(PAWL_STATE_RUNNING, fixture_state(d->f, id));
    assert_int_equal(1, log_capture_times(&d->log, "the database rejected"));
    queue_check(d->f);
}

PAWL_TEST(a_failure_that_is_refused_stops_no_other)
{
    delivery_fixture *d = open_usual();
    pawl_work_id id = send_one_refused(d, "refuse");

    delivery_until(d, MESSAGES - 1, PAWL_STATE_FAILED);
    delivery_send(d, "peer", "ok", "later");
    delivery_until(d, 1, PAWL_STATE_DONE);
    assert_int_equal(PAWL_STATE_RUNNING, fixture_state(d->f, id));
    assert_int_equal(1, log_capture_times(&d->log, "the database rejected"));
    queue_check(d->f);
}

PAWL_TEST(a_response_that_is_refused_is_omitted)
{
    delivery_fixture *d = open_usual();
    pawl_work_id id = delivery_send(d, "peer", "ok", "1");
    size_t size = 0;

    fixture_refuse(d->f, "outcome", "INSERT", "NEW.output IS NOT NULL");
    delivery_until(d, 1, PAWL_STATE_DONE);
    (void)pawl_message_output(queue_get(d->f, id), &size);
    assert_int_equal(0, size);
    assert_int_equal(1, log_capture_times(&d->log, "the database rejected"));
}

PAWL_TEST(an_error_text_that_is_refused_is_omitted)
{
    delivery_fixture *d = open_usual();
    pawl_work_id id = delivery_send(d, "peer", "error", "1");

    fixture_refuse(d->f, "queue", "UPDATE", "NEW.last_error IS NOT NULL");
    delivery_run_until_idle(d);
    assert_int_equal(1, pawl_message_retries(queue_get(d->f, id)));
    assert_null(pawl_message_last_error(queue_get(d->f, id)));
    assert_int_equal(1, log_capture_times(&d->log, "the database rejected"));
}

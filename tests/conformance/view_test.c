/* tests/conformance/view_test.c - the views that show the outbox and the timers. */
#include "queue_fixture.h"

#include <string.h>

static void has_columns(fixture *f, const char *view, const char *const *columns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t found =
            fixture_is_postgres(f)
                ? fixture_count(f,
                                "SELECT count(*) FROM information_schema.columns WHERE"
                                " table_schema = '%s' AND table_name = '%s' AND column_name = '%s'",
                                fixture_store_options(f)->schema, view, columns[i])
                : fixture_count(f,
                                "SELECT count(*) FROM pragma_table_info('pawl_%s')"
                                " WHERE name = '%s'",
                                view, columns[i]);

        if (found != 1)
            test_fail("the view %s has no column %s", view, columns[i]);
    }
}

PAWL_TEST(the_outbox_view_has_the_columns_its_users_know)
{
    static const char *const columns[] = {
        "id",           "topic",       "payload",         "created_at",   "status",
        "locked_until", "owner_token", "is_processed",    "processed_at", "processed_by",
        "retry_count",  "last_error",  "next_attempt_at", "message_id",   "correlation_id",
        "due_time_utc"};

    has_columns(fixture_open(NULL), "outbox", columns, COUNT_OF(columns));
}

PAWL_TEST(the_timer_view_has_the_columns_its_users_know)
{
    static const char *const columns[] = {
        "id",         "due_time",     "payload",     "topic",      "correlation_id",
        "status",     "locked_until", "owner_token", "created_at", "retry_count",
        "last_error", "processed_at", "claimed_by"};

    has_columns(fixture_open(NULL), "timer", columns, COUNT_OF(columns));
}

PAWL_TEST(the_outbox_view_follows_the_states_of_a_message)
{
    fixture *f = fixture_open(NULL);
    pawl_owner owner = queue_owner(1);
    pawl_messages *list;

    fixture_send(f, "t", "x");
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {outbox} WHERE status = 'ready' AND"
                                         " retry_count = 0 AND owner_token IS NULL AND"
                                         " locked_until IS NULL AND processed_at IS NULL AND"
                                         " {us:next_attempt_at} = {us:created_at}"));
    assert_int_equal(0, fixture_count(f, "SELECT is_processed FROM {outbox}"));
    list = fixture_claim(f, owner, MINUTE_MS, 1);
    assert_int_equal(
        FIXTURE_START.us + 60 * 1000000,
        fixture_count(f, "SELECT {us:locked_until} FROM {outbox} WHERE status = 'running' AND"
                         " owner_token IS NOT NULL"));
    queue_abandon(f, owner, list, "broken", 1000);
    assert_int_equal(1,
                     fixture_count(f, "SELECT count(*) FROM {outbox} WHERE status = 'scheduled' AND"
                                      " retry_count = 1 AND last_error = 'broken' AND"
                                      " owner_token IS NULL AND locked_until IS NULL"));
    assert_int_equal(FIXTURE_START.us + 1000000,
                     fixture_count(f, "SELECT {us:next_attempt_at} FROM {outbox}"));
    fixture_advance(f, 1000);
    queue_ack(f, owner, fixture_claim(f, owner, MINUTE_MS, 1));
    assert_int_equal(1,
                     fixture_count(f, "SELECT is_processed FROM {outbox} WHERE status = 'done'"));
    assert_int_equal(FIXTURE_START.us + 1000000,
                     fixture_count(f, "SELECT {us:processed_at} FROM {outbox} WHERE"
                                      " processed_by IS NOT NULL"));
}

PAWL_TEST(the_outbox_view_shows_payload_and_correlation)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "words");

    message.correlation_id = "c";
    queue_send(f, &message);
    assert_int_equal(5, fixture_count(f, "SELECT length(payload) FROM {outbox} WHERE"
                                         " correlation_id = 'c' AND topic = 't'"));
    assert_int_equal(FIXTURE_START.us, fixture_count(f, "SELECT {us:due_time_utc} FROM {outbox}"));
}

PAWL_TEST(only_messages_sent_for_later_are_timers)
{
    fixture *f = fixture_open(NULL);

    fixture_send(f, "t", "now");
    queue_send_after(f, "t", "later", HOUR_MS);
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {timer}"));
    assert_int_equal(
        FIXTURE_START.us + HOUR_MS * 1000,
        fixture_count(f, "SELECT {us:due_time} FROM {timer} WHERE status = 'scheduled'"));
    fixture_advance(f, 2 * HOUR_MS);
    assert_int_equal(2,
                     queue_ack(f, queue_owner(1), fixture_claim(f, queue_owner(1), MINUTE_MS, 10)));
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {timer} WHERE status = 'done'"));
}

PAWL_TEST(a_retried_dead_letter_that_failed_again_shows_its_new_time_to_live)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "x");
    pawl_work_id id;
    int64_t expires_at;

    message.expires_at = (pawl_wall){FIXTURE_START.us + 10 * 1000000};
    id = queue_send(f, &message).work_id;
    queue_fail(f, queue_owner(1), fixture_claim(f, queue_owner(1), MINUTE_MS, 1), NULL);
    fixture_advance(f, 5 * SECOND_MS);
    queue_retry(f, id);
    expires_at = pawl_message_expires_at(queue_get(f, id)).us;
    assert_int_equal(FIXTURE_START.us + 15 * 1000000, expires_at);
    queue_fail(f, queue_owner(1), fixture_claim(f, queue_owner(1), MINUTE_MS, 1), NULL);
    assert_time(expires_at, pawl_message_expires_at(queue_get(f, id)));
}

/* tests/conformance/timer_test.c - the promises of every scheduling strategy. */
#include "timer_fixture.h"

#include <string.h>

static pawl_wall start_plus(int64_t ms)
{
    return (pawl_wall){FIXTURE_START.us + ms * 1000};
}

TIMER_TEST(scheduling_returns_the_id_and_the_due_time)
{
    pawl_message_spec message = queue_message("t", "x");
    pawl_enqueued at, after;

    message.id = queue_id(7);
    message.due_at = (pawl_wall){FIXTURE_START.us + 1234567};
    at = timers_schedule(t, &message);
    assert_true(pawl_uuid_equal(queue_id(7), at.message_id));
    assert_time(FIXTURE_START.us + 1234567, at.due_at);
    assert_false(at.existed);
    after = timers_after(t, "t", "y", 90 * SECOND_MS);
    assert_false(pawl_uuid_is_zero(after.message_id));
    assert_time(FIXTURE_START.us + 90 * 1000000, after.due_at);
    assert_true(after.work_id.value > at.work_id.value);
}

TIMER_TEST(a_timer_is_delivered_when_its_time_has_come_and_not_before)
{
    pawl_enqueued late = timers_after(t, "t", "late", 2 * MINUTE_MS);
    pawl_enqueued soon = timers_after(t, "t", "soon", MINUTE_MS);

    assert_string_equal("", timers_deliver(t, 10));
    timers_advance(t, MINUTE_MS - 1);
    assert_string_equal("", timers_deliver(t, 10));
    timers_advance(t, 1);
    assert_string_equal("soon", timers_deliver(t, 10));
    assert_string_equal("", timers_deliver(t, 10));
    assert_int_equal(PAWL_STATE_DONE, timers_state(t, soon.message_id));
    assert_int_equal(PAWL_STATE_SCHEDULED, timers_state(t, late.message_id));
    timers_advance(t, MINUTE_MS);
    assert_string_equal("late", timers_deliver(t, 10));
    assert_int_equal(PAWL_STATE_DONE, timers_state(t, late.message_id));
}

TIMER_TEST(everything_of_the_message_comes_back)
{
    pawl_message_spec message = queue_message("mail", "hello");
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *one = NULL;
    const pawl_message *found;

    message.priority = 4;
    message.destination = "billing";
    message.headers = "{\"lang\":\"de\"}";
    message.correlation_id = "order-77";
    message.type = PAWL_TYPE_COMMAND;
    message.max_attempts = 3;
    message.delay_ms = HOUR_MS;
    pawl_enqueued sent = timers_schedule(t, &message);
    assert_ok(pawl_timer_get(t->scheduler, sent.message_id, &one, &err), &err);
    found = pawl_messages_at(queue_keep(one), 0);
    assert_int_equal(sent.work_id.value, pawl_message_work_id(found).value);
    assert_true(pawl_uuid_equal(sent.message_id, pawl_message_id(found)));
    assert_string_equal("mail", pawl_message_topic(found));
    assert_string_equal("hello", queue_payload(found));
    assert_int_equal(4, pawl_message_priority(found));
    assert_string_equal("billing", pawl_message_destination(found));
    assert_string_equal("{\"lang\":\"de\"}", pawl_message_headers(found));
    assert_string_equal("order-77", pawl_message_correlation_id(found));
    assert_int_equal(PAWL_TYPE_COMMAND, pawl_message_type(found));
    assert_int_equal(3, pawl_message_max_attempts(found));
    assert_int_equal(PAWL_STATE_SCHEDULED, pawl_message_state(found));
    assert_time(FIXTURE_START.us, pawl_message_created_at(found));
    assert_time(start_plus(HOUR_MS).us, pawl_message_due_at(found));
    assert_time(start_plus(HOUR_MS).us, pawl_message_next_attempt_at(found));
    assert_time(start_plus(HOUR_MS + DAY_MS).us, pawl_message_expires_at(found));
    assert_time(0, pawl_message_finished_at(found));
}

TIMER_TEST(the_past_and_no_time_at_all_mean_at_once)
{
    pawl_message_spec message = queue_message("t", "past");

    message.due_at = start_plus(-HOUR_MS);
    assert_time(start_plus(-HOUR_MS).us, timers_schedule(t, &message).due_at);
    assert_time(FIXTURE_START.us, timers_after(t, "t", "now", 0).due_at);
    assert_string_equal("past", timers_pending(t, NULL)); /* "now" never was a timer */
    assert_int_equal(1, timers_count(t, NULL));
    assert_string_equal("past now", timers_deliver(t, 10));
}

TIMER_TEST(times_out_of_range_are_refused)
{
    pawl_message_spec message = queue_message("t", "x");
    pawl_error err = PAWL_ERROR_INIT;

    message.delay_ms = -1;
    assert_status(PAWL_E_INVALID, pawl_timer_schedule(t->scheduler, &message, NULL, &err), &err);
    message.delay_ms = 36501 * DAY_MS;
    assert_status(PAWL_E_INVALID, pawl_timer_schedule(t->scheduler, &message, NULL, &err), &err);
    message.delay_ms = 1;
    message.due_at = start_plus(1);
    assert_status(PAWL_E_INVALID, pawl_timer_schedule(t->scheduler, &message, NULL, &err), &err);
    assert_says(&err, "exclude each other");
    message.delay_ms = 0;
    message.due_at.us = INT64_MAX;
    assert_status(PAWL_E_INVALID, pawl_timer_schedule(t->scheduler, &message, NULL, &err), &err);
    assert_says(&err, "year 9999");
    assert_int_equal(0, timers_count(t, NULL));
}

TIMER_TEST(bad_messages_are_refused_and_leave_nothing)
{
    pawl_message_spec message = queue_message("", "x");
    pawl_error err = PAWL_ERROR_INIT;
    pawl_enqueued untouched = {.work_id = {-5}};

    message.delay_ms = 1000;
    assert_status(PAWL_E_INVALID, pawl_timer_schedule(t->scheduler, &message, &untouched, &err),
                  &err);
    message.topic = "t";
    message.priority = 10;
    assert_status(PAWL_E_INVALID, pawl_timer_schedule(t->scheduler, &message, &untouched, &err),
                  &err);
    message.priority = 0;
    message.headers = "[]";
    assert_status(PAWL_E_INVALID, pawl_timer_schedule(t->scheduler, &message, &untouched, &err),
                  &err);
    assert_status(PAWL_E_INVALID, pawl_timer_schedule(t->scheduler, NULL, &untouched, &err), &err);
    assert_status(PAWL_E_INVALID,
                  pawl_timer_schedule_batch(t->scheduler, &message, 0, &untouched, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_timer_schedule(NULL, &message, &untouched, &err), &err);
    assert_int_equal(-5, untouched.work_id.value);
    assert_int_equal(0, timers_count(t, NULL));
}

TIMER_TEST(an_id_given_by_the_caller_is_stored_once)
{
    pawl_message_spec message = queue_message("t", "x");
    pawl_error err = PAWL_ERROR_INIT;
    pawl_enqueued first, again;

    message.id = queue_id(1);
    message.delay_ms = MINUTE_MS;
    first = timers_schedule(t, &message);
    timers_advance(t, SECOND_MS);
    message.delay_ms = HOUR_MS;
    again = timers_schedule(t, &message);
    assert_true(again.existed);
    assert_int_equal(first.work_id.value, again.work_id.value);
    assert_time(first.due_at.us, again.due_at);
    assert_int_equal(1, timers_count(t, NULL));
    message.payload = "y";
    assert_status(PAWL_E_CONFLICT, pawl_timer_schedule(t->scheduler, &message, NULL, &err), &err);
    timers_advance(t, MINUTE_MS);
    assert_string_equal("x", timers_deliver(t, 10));
    message.payload = "x";
    assert_true(timers_schedule(t, &message).existed); /* still known when it is done */
    assert_string_equal("", timers_deliver(t, 10));
}

TIMER_TEST(a_batch_is_scheduled_whole)
{
    pawl_message_spec batch[4];
    pawl_enqueued answers[4];
    pawl_error err = PAWL_ERROR_INIT;

    for (int i = 0; i < 4; i++) {
        batch[i] = queue_message("t", test_note("%d", i));
        batch[i].delay_ms = (4 - i) * MINUTE_MS;
    }
    batch[3].id = batch[1].id = queue_id(5);
    batch[3].payload = batch[1].payload;
    assert_ok(pawl_timer_schedule_batch(t->scheduler, batch, 4, answers, &err), &err);
    for (int i = 0; i < 3; i++) {
        assert_false(answers[i].existed);
        assert_time(start_plus((4 - i) * MINUTE_MS).us, answers[i].due_at);
    }
    assert_true(answers[3].existed); /* the same id twice is one */
    assert_int_equal(answers[1].work_id.value, answers[3].work_id.value);
    assert_time(answers[1].due_at.us, answers[3].due_at);
    assert_string_equal("2 1 0", timers_pending(t, NULL));
}

TIMER_TEST(a_batch_with_something_wrong_stores_nothing)
{
    pawl_message_spec batch[3];
    pawl_error err = PAWL_ERROR_INIT;

    for (int i = 0; i < 3; i++) {
        batch[i] = queue_message("t", test_note("%d", i));
        batch[i].delay_ms = MINUTE_MS;
    }
    batch[2].topic = NULL;
    assert_status(PAWL_E_INVALID, pawl_timer_schedule_batch(t->scheduler, batch, 3, NULL, &err),
                  &err);
    batch[2].topic = "t";
    batch[0].id = batch[2].id = queue_id(3); /* two messages under one id */
    assert_status(PAWL_E_CONFLICT, pawl_timer_schedule_batch(t->scheduler, batch, 3, NULL, &err),
                  &err);
    assert_int_equal(0, timers_count(t, NULL));
    timers_schedule(t, &batch[0]);
    batch[0].id = queue_id(4);
    assert_status(PAWL_E_CONFLICT, pawl_timer_schedule_batch(t->scheduler, batch, 3, NULL, &err),
                  &err);
    assert_int_equal(1, timers_count(t, NULL));
}

TIMER_TEST(a_cancelled_timer_is_never_delivered)
{
    pawl_enqueued gone = timers_after(t, "t", "gone", MINUTE_MS);
    pawl_enqueued stays = timers_after(t, "t", "stays", MINUTE_MS);

    assert_int_equal(1, timers_cancel(t, gone.message_id));
    assert_int_equal(PAWL_STATE_CANCELLED, timers_state(t, gone.message_id));
    assert_int_equal(0, timers_cancel(t, gone.message_id)); /* it is already */
    assert_string_equal("stays", timers_pending(t, NULL));
    timers_advance(t, HOUR_MS);
    assert_string_equal("stays", timers_deliver(t, 10));
    assert_int_equal(0, timers_cancel(t, stays.message_id)); /* too late */
    assert_int_equal(PAWL_STATE_DONE, timers_state(t, stays.message_id));
}

TIMER_TEST(a_due_timer_can_be_cancelled_until_it_is_claimed)
{
    pawl_enqueued first = timers_after(t, "t", "first", MINUTE_MS);
    pawl_enqueued second = timers_after(t, "t", "second", 2 * MINUTE_MS);

    timers_advance(t, HOUR_MS);
    assert_string_equal("first second", timers_pending(t, NULL));
    assert_string_equal("first", timers_deliver(t, 1));
    assert_int_equal(0, timers_cancel(t, first.message_id));
    assert_int_equal(1, timers_cancel(t, second.message_id));
    assert_string_equal("", timers_deliver(t, 10));
}

TIMER_TEST(many_are_cancelled_at_once_and_the_others_are_skipped)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_uuid ids[5];
    size_t cancelled = 99;

    ids[0] = timers_after(t, "t", "a", MINUTE_MS).message_id;
    ids[1] = queue_id(1234);
    ids[2] = timers_after(t, "t", "b", MINUTE_MS).message_id;
    ids[3] = ids[0];
    ids[4] = timers_after(t, "t", "done", 0).message_id;
    timers_after(t, "t", "c", MINUTE_MS);
    assert_string_equal("done", timers_deliver(t, 1));
    assert_ok(pawl_timer_cancel(t->scheduler, ids, 5, &cancelled, &err), &err);
    assert_int_equal(2, cancelled);
    assert_string_equal("c", timers_pending(t, NULL));
    assert_ok(pawl_timer_cancel(t->scheduler, ids, 0, &cancelled, &err), &err);
    assert_int_equal(0, cancelled);
    assert_status(PAWL_E_INVALID, pawl_timer_cancel(t->scheduler, NULL, 0, NULL, &err), &err);
    assert_status(PAWL_E_INVALID,
                  pawl_timer_cancel(t->scheduler, ids, PAWL_BATCH_MAX + 1, NULL, &err), &err);
}

TIMER_TEST(an_unknown_id_is_not_found)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *one = NULL;

    timers_after(t, "t", "x", MINUTE_MS);
    assert_status(PAWL_E_NOT_FOUND, pawl_timer_get(t->scheduler, queue_id(99), &one, &err), &err);
    assert_null(one);
}

static void fill_for_queries(timers *t)
{
    static const struct {
        const char *topic, *payload, *destination, *correlation;
        int priority, minutes;
    } all[] = {
        {"mail", "a", NULL, "c1", 0, 5},      {"mail", "b", "there", "c2", 9, 3},
        {"report", "c", "there", NULL, 2, 4}, {"report", "d", NULL, "c1", 0, 1},
        {"mail", "e", NULL, NULL, 0, 2},      {"Mail", "f", "There", "C1", 0, 6},
    };

    for (size_t i = 0; i < COUNT_OF(all); i++) {
        pawl_message_spec message = queue_message(all[i].topic, all[i].payload);

        message.destination = all[i].destination;
        message.correlation_id = all[i].correlation;
        message.priority = all[i].priority;
        message.delay_ms = all[i].minutes * MINUTE_MS;
        timers_schedule(t, &message);
    }
}

static void timer_expect(timers *t, const pawl_timer_filter *query, const char *payloads)
{
    assert_string_equal(payloads, timers_pending(t, query));
    assert_int_equal((strlen(payloads) + 1) / 2, timers_count(t, query));
}

TIMER_TEST(pending_timers_come_by_due_time_and_can_be_narrowed)
{
    pawl_timer_filter query = PAWL_TIMER_FILTER_INIT;

    timer_expect(t, NULL, "");
    fill_for_queries(t);
    timer_expect(t, NULL, "d e b c a f");
    query.topic = "mail";
    timer_expect(t, &query, "e b a");
    query.destination = "there";
    timer_expect(t, &query, "b");
    query.topic = NULL;
    timer_expect(t, &query, "b c");
    query.destination = NULL;
    query.correlation_id = "c1";
    timer_expect(t, &query, "d a");
    query.topic = "report";
    timer_expect(t, &query, "d");
    query.topic = "nothing";
    timer_expect(t, &query, "");
}

TIMER_TEST(a_range_of_due_times_has_its_start_and_not_its_end)
{
    pawl_timer_filter query = PAWL_TIMER_FILTER_INIT;

    fill_for_queries(t);
    query.due_from = start_plus(2 * MINUTE_MS);
    timer_expect(t, &query, "e b c a f");
    query.due_before = start_plus(5 * MINUTE_MS);
    timer_expect(t, &query, "e b c");
    query.due_from.us++;
    query.due_before.us++;
    timer_expect(t, &query, "b c a");
    query.due_from = PAWL_TIME_UNSET;
    timer_expect(t, &query, "d e b c a");
    query.topic = "mail";
    timer_expect(t, &query, "e b a");
    query.due_before = start_plus(MINUTE_MS);
    timer_expect(t, &query, "");
}

TIMER_TEST(payloads_are_left_out_unless_asked_for)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;
    size_t size = 9;

    timers_after(t, "t", "x", MINUTE_MS);
    assert_ok(pawl_timer_list(t->scheduler, NULL, &list, NULL, &err), &err);
    queue_keep(list);
    assert_int_equal(1, pawl_messages_count(list));
    assert_non_null(pawl_message_payload(pawl_messages_at(list, 0), &size));
    assert_int_equal(0, size);
}

static const char *page(timers *t, pawl_timer_filter *query)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;

    query->with_payload = true;
    assert_ok(pawl_timer_list(t->scheduler, query, &list, &query->after, &err), &err);
    assert_true(pawl_messages_count(queue_keep(list)) <= (size_t)query->limit);
    return queue_payloads(list);
}

TIMER_TEST(pages_follow_each_other_without_gap_or_overlap)
{
    for (int i = 0; i < 25; i++) { /* several are due at the same time, in several lanes */
        pawl_message_spec message = queue_message(i % 2 ? "odd" : "even", "x");

        message.delay_ms = (1 + i / 7) * MINUTE_MS;
        message.priority = i % 3;
        timers_schedule(t, &message);
    }
    for (int limit = 1; limit < 30; limit += 4) {
        pawl_timer_filter query = PAWL_TIMER_FILTER_INIT;
        int64_t last_due = 0, last_id = 0;
        size_t total = 0;

        query.limit = limit;
        do {
            pawl_error err = PAWL_ERROR_INIT;
            pawl_messages *list = NULL;

            assert_ok(pawl_timer_list(t->scheduler, &query, &list, &query.after, &err), &err);
            queue_keep(list);
            for (size_t i = 0; i < pawl_messages_count(list); i++, total++) {
                const pawl_message *m = pawl_messages_at(list, i);
                int64_t due = pawl_message_due_at(m).us, id = pawl_message_work_id(m).value;

                assert_true(due > last_due || (due == last_due && id > last_id));
                last_due = due;
                last_id = id;
            }
            assert_true(total <= 25);
        } while (!PAWL_PAGE_IS_NONE(query.after));
        assert_int_equal(25, total);
    }
}

TIMER_TEST(what_changes_between_two_pages_does_not_disturb_the_next)
{
    pawl_timer_filter query = PAWL_TIMER_FILTER_INIT;
    pawl_uuid second = queue_id(0);

    for (int i = 1; i <= 5; i++) {
        pawl_enqueued sent = timers_after(t, "t", test_note("%d", i), i * MINUTE_MS);
        if (i == 2)
            second = sent.message_id;
    }
    query.limit = 2;
    assert_string_equal("1 2", page(t, &query));
    assert_int_equal(1, timers_cancel(t, second)); /* the page's last */
    timers_after(t, "t", "before", SECOND_MS);
    timers_after(t, "t", "between", 3 * MINUTE_MS + 1);
    assert_string_equal("3 between", page(t, &query));
    assert_string_equal("4 5", page(t, &query));
    assert_true(PAWL_PAGE_IS_NONE(query.after));
}

TIMER_TEST(a_query_out_of_range_is_refused)
{
    pawl_timer_filter query = PAWL_TIMER_FILTER_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;
    pawl_timer_total total;

    query.limit = 10001;
    assert_status(PAWL_E_INVALID, pawl_timer_list(t->scheduler, &query, &list, NULL, &err), &err);
    query.limit = -1;
    assert_status(PAWL_E_INVALID, pawl_timer_count(t->scheduler, &query, &total, &err), &err);
    query.limit = 0;
    query.after = (pawl_page){"4711"}; /* an id alone is the page of another list */
    assert_status(PAWL_E_INVALID, pawl_timer_list(t->scheduler, &query, &list, NULL, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_timer_count(t->scheduler, &query, &total, &err), &err);
    query.after = (pawl_page)PAWL_PAGE_INIT;
    query.due_from.us = -1;
    assert_status(PAWL_E_INVALID, pawl_timer_list(t->scheduler, &query, &list, NULL, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_timer_list(t->scheduler, NULL, NULL, NULL, &err), &err);
    assert_null(list);
}

TIMER_TEST(the_next_due_time_is_returned)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_wall due = {-1};

    assert_ok(pawl_timer_next_due(t->scheduler, &due, &err), &err);
    assert_time(0, due);
    timers_after(t, "a", "x", HOUR_MS);
    pawl_uuid soon = timers_after(t, "b", "y", MINUTE_MS).message_id;
    assert_ok(pawl_timer_next_due(t->scheduler, &due, &err), &err);
    assert_time(start_plus(MINUTE_MS).us, due);
    timers_advance(t, 2 * MINUTE_MS); /* overdue, and still the next */
    assert_ok(pawl_timer_next_due(t->scheduler, &due, &err), &err);
    assert_time(start_plus(MINUTE_MS).us, due);
    timers_cancel(t, soon);
    assert_ok(pawl_timer_next_due(t->scheduler, &due, &err), &err);
    assert_time(start_plus(HOUR_MS).us, due);
}

TIMER_TEST(among_those_that_are_due_the_higher_priority_goes_first)
{
    for (int i = 0; i < 6; i++) {
        pawl_message_spec message = queue_message("t", test_note("%d", i));

        message.priority = i % 2 ? 9 : 0;
        message.delay_ms = (10 - i) * MINUTE_MS;
        timers_schedule(t, &message);
    }
    timers_advance(t, 8 * MINUTE_MS); /* 2 to 5 are due */
    assert_string_equal("5 3 4", timers_deliver(t, 3));
    timers_advance(t, HOUR_MS);
    assert_string_equal("1 2 0", timers_deliver(t, 10));
}

TIMER_TEST(a_timer_past_its_time_to_live_is_not_delivered)
{
    pawl_message_spec message = queue_message("t", "late");

    message.due_at = start_plus(MINUTE_MS);
    message.expires_at = start_plus(2 * MINUTE_MS);
    timers_schedule(t, &message);
    timers_after(t, "t", "other", MINUTE_MS);
    timers_advance(t, 2 * MINUTE_MS);
    assert_string_equal("other", timers_deliver(t, 10));
}

TIMER_TEST(timers_are_delivered_in_the_order_of_their_due_times_whatever_the_order_of_scheduling)
{
    static const int minutes[] = {17, 3, 9, 25, 1, 14, 22, 6, 11, 30, 2, 28};

    for (size_t i = 0; i < COUNT_OF(minutes); i++)
        timers_after(t, "t", test_note("%d", minutes[i]), minutes[i] * MINUTE_MS);
    timers_advance(t, 10 * MINUTE_MS);
    assert_string_equal("1 2 3 6 9", timers_deliver(t, 100));
    timers_advance(t, HOUR_MS);
    assert_string_equal("11 14 17", timers_deliver(t, 3));
    assert_string_equal("22 25 28 30", timers_deliver(t, 100));
}

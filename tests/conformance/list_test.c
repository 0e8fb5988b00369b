/* tests/conformance/list_test.c - get, find and list: reading what is stored. */
#include "queue_fixture.h"

static pawl_messages *list(fixture *f, const pawl_outbox_filter *filter, pawl_page *next)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *found = NULL;

    assert_ok(pawl_outbox_list(fixture_store(f), filter, &found, next, &err), &err);
    return queue_keep(found);
}

static const char *list_text(fixture *f, pawl_outbox_filter filter)
{
    filter.with_payload = true;
    return queue_payloads(list(f, &filter, NULL));
}

/* One message in every state, the payload naming it; newest is the last. */
static void one_of_each(fixture *f)
{
    for (int state = 0; state < PAWL_STATE_COUNT; state++)
        queue_make(f, test_note("topic%d", state), pawl_state_name((pawl_state)state),
                   (pawl_state)state);
}

PAWL_TEST(a_message_is_found_by_its_message_id)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec message = queue_message("t", "x");
    pawl_messages *one = NULL;
    pawl_enqueued sent;

    message.id = queue_id(1);
    fixture_send(f, "t", "other");
    sent = queue_send(f, &message);
    assert_ok(pawl_outbox_find(fixture_store(f), queue_id(1), &one, &err), &err);
    queue_keep(one);
    assert_int_equal(1, pawl_messages_count(one));
    assert_int_equal(sent.work_id.value, pawl_message_work_id(pawl_messages_at(one, 0)).value);
    assert_string_equal("x", queue_payload(pawl_messages_at(one, 0)));
}

PAWL_TEST(an_unknown_id_is_not_found)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *one = NULL;

    fixture_send(f, "t", "x");
    assert_status(PAWL_E_NOT_FOUND,
                  pawl_outbox_get(fixture_store(f), (pawl_work_id){12345}, &one, &err), &err);
    assert_says(&err, "no such message");
    assert_status(PAWL_E_NOT_FOUND,
                  pawl_outbox_get(fixture_store(f), (pawl_work_id){-1}, &one, &err), &err);
    assert_status(PAWL_E_NOT_FOUND, pawl_outbox_find(fixture_store(f), queue_id(99), &one, &err),
                  &err);
    assert_null(one);
}

PAWL_TEST(a_list_is_newest_first_and_leaves_payloads_out_unless_asked)
{
    fixture *f = fixture_open(NULL);
    pawl_outbox_filter filter = PAWL_OUTBOX_FILTER_INIT;
    pawl_messages *found;
    pawl_page next = {"-1"};

    for (int i = 0; i < 3; i++)
        fixture_send(f, "t", test_note("%d", i));
    assert_string_equal("2 1 0", list_text(f, filter));
    found = list(f, &filter, &next);
    assert_int_equal(3, pawl_messages_count(found));
    assert_true(PAWL_PAGE_IS_NONE(next));
    for (size_t i = 0; i < 3; i++) {
        size_t size = 9;

        assert_non_null(pawl_message_payload(pawl_messages_at(found, i), &size));
        assert_int_equal(0, size);
        assert_string_equal("t", pawl_message_topic(pawl_messages_at(found, i)));
    }
}

PAWL_TEST(an_empty_store_lists_nothing)
{
    fixture *f = fixture_open(NULL);
    pawl_page next = {"-1"};

    assert_int_equal(0, pawl_messages_count(list(f, NULL, &next)));
    assert_true(PAWL_PAGE_IS_NONE(next));
}

PAWL_TEST(a_message_is_scheduled_until_it_is_due)
{
    fixture *f = fixture_open(NULL);
    pawl_outbox_filter filter = PAWL_OUTBOX_FILTER_INIT;
    pawl_work_id later = queue_send_after(f, "t", "later", HOUR_MS);
    pawl_work_id retried = fixture_send(f, "t", "retried");
    pawl_error err = PAWL_ERROR_INIT;
    size_t changed = 0;

    queue_abandon(f, queue_owner(1), fixture_claim(f, queue_owner(1), MINUTE_MS, 1), "no", HOUR_MS);
    filter.states = 1u << PAWL_STATE_SCHEDULED;
    assert_string_equal("retried later", list_text(f, filter));
    fixture_advance(f, HOUR_MS - 1);
    assert_int_equal(PAWL_STATE_SCHEDULED, fixture_state(f, later));
    assert_int_equal(PAWL_STATE_SCHEDULED, fixture_state(f, retried));
    fixture_advance(f, 1);
    assert_int_equal(PAWL_STATE_READY, fixture_state(f, later));
    assert_int_equal(PAWL_STATE_READY, fixture_state(f, retried));
    assert_string_equal("", list_text(f, filter));
    filter.states = 1u << PAWL_STATE_READY;
    assert_string_equal("retried later", list_text(f, filter));
    queue_send_after(f, "t", "last", HOUR_MS);
    filter.states = 1u << PAWL_STATE_SCHEDULED;
    assert_ok(pawl_outbox_cancel_matching(fixture_store(f), &filter, &changed, &err), &err);
    assert_int_equal(1, changed);
}

PAWL_TEST(every_state_can_be_listed)
{
    fixture *f = fixture_open(NULL);
    pawl_outbox_filter filter = PAWL_OUTBOX_FILTER_INIT;

    one_of_each(f);
    for (int state = 0; state < PAWL_STATE_COUNT; state++) {
        filter.states = 1u << state;
        assert_string_equal(pawl_state_name((pawl_state)state), list_text(f, filter));
    }
    filter.states = 1u << PAWL_STATE_READY | 1u << PAWL_STATE_RUNNING;
    assert_string_equal("running ready", list_text(f, filter));
    filter.states |= 1u << PAWL_STATE_SCHEDULED;
    assert_string_equal("scheduled running ready", list_text(f, filter));
    filter.states = 1u << PAWL_STATE_FAILED | 1u << PAWL_STATE_EXPIRED | 1u << PAWL_STATE_CANCELLED;
    assert_string_equal("cancelled expired failed", list_text(f, filter));
    filter.states = 1u << PAWL_STATE_READY | 1u << PAWL_STATE_FAILED;
    assert_string_equal("failed ready", list_text(f, filter));
    filter.states = 0;
    assert_string_equal("scheduled cancelled expired failed done running ready",
                        list_text(f, filter));
}

PAWL_TEST(a_list_can_be_narrowed)
{
    fixture *f = fixture_open(NULL);
    pawl_outbox_filter filter = PAWL_OUTBOX_FILTER_INIT;
    pawl_message_spec message = queue_message("b", "correlated");

    fixture_send(f, "a", "first");
    fixture_advance(f, SECOND_MS);
    message.correlation_id = "c-1";
    queue_send(f, &message);
    fixture_send(f, "b", "plain");
    filter.topic = "b";
    assert_string_equal("plain correlated", list_text(f, filter));
    filter.correlation_id = "c-1";
    assert_string_equal("correlated", list_text(f, filter));
    filter.topic = NULL;
    assert_string_equal("correlated", list_text(f, filter));
    filter.correlation_id = NULL;
    filter.created_before = (pawl_wall){FIXTURE_START.us + 1000000};
    assert_string_equal("first", list_text(f, filter));
    filter.created_before = (pawl_wall){FIXTURE_START.us};
    assert_string_equal("", list_text(f, filter));
    filter.topic = "B";
    filter.created_before = PAWL_TIME_UNSET;
    assert_string_equal("", list_text(f, filter));
}

static void walk_pages(fixture *f, unsigned states, int limit, size_t expected)
{
    pawl_outbox_filter filter = PAWL_OUTBOX_FILTER_INIT;
    pawl_page next = PAWL_PAGE_INIT;
    int64_t last = INT64_MAX;
    size_t total = 0;

    filter.states = states;
    filter.limit = limit;
    do {
        pawl_messages *page;

        filter.after = next;
        page = list(f, &filter, &next);
        assert_true(pawl_messages_count(page) <= (size_t)limit);
        for (size_t i = 0; i < pawl_messages_count(page); i++) {
            int64_t id = pawl_message_work_id(pawl_messages_at(page, i)).value;

            assert_true(id < last);
            last = id;
        }
        total += pawl_messages_count(page);
        assert_true(total <= expected);
    } while (!PAWL_PAGE_IS_NONE(next));
    assert_int_equal(expected, total);
}

PAWL_TEST(pages_follow_each_other_without_gap_or_overlap)
{
    fixture *f = fixture_open(NULL);

    for (int i = 0; i < 25; i++)
        fixture_send(f, "t", "x");
    queue_fail(f, queue_owner(1), fixture_claim(f, queue_owner(1), MINUTE_MS, 9), NULL);
    queue_ack(f, queue_owner(1), fixture_claim(f, queue_owner(1), MINUTE_MS, 6));
    for (int limit = 1; limit < 30; limit += 3)
        walk_pages(f, 0, limit, 25);
    walk_pages(f, 1u << PAWL_STATE_FAILED, 4, 9);
    walk_pages(f, 1u << PAWL_STATE_READY, 5, 10);
    walk_pages(f, 1u << PAWL_STATE_DONE, 6, 6);
    walk_pages(f, 1u << PAWL_STATE_EXPIRED, 6, 0);
}

PAWL_TEST(a_page_has_a_hundred_messages_by_default)
{
    fixture *f = fixture_open(NULL);
    pawl_page next = PAWL_PAGE_INIT;

    for (int i = 0; i < 101; i++)
        fixture_send(f, "t", "x");
    assert_int_equal(100, pawl_messages_count(list(f, NULL, &next)));
    assert_false(PAWL_PAGE_IS_NONE(next));
}

PAWL_TEST(new_messages_do_not_disturb_the_next_page)
{
    fixture *f = fixture_open(NULL);
    pawl_outbox_filter filter = PAWL_OUTBOX_FILTER_INIT;

    for (int i = 0; i < 4; i++)
        fixture_send(f, "t", test_note("%d", i));
    filter.limit = 2;
    filter.with_payload = true;
    assert_string_equal("3 2", queue_payloads(list(f, &filter, &filter.after)));
    fixture_send(f, "t", "new");
    assert_string_equal("1 0", queue_payloads(list(f, &filter, &filter.after)));
}

PAWL_TEST(a_rare_match_behind_many_rows_is_reached_page_by_page)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_outbox_filter filter = PAWL_OUTBOX_FILTER_INIT;
    pawl_message_spec *messages = test_malloc(PAWL_BATCH_MAX * sizeof *messages);
    size_t found = 0;
    int pages = 0;

    fixture_send(f, "rare", "x");
    for (int i = 0; i < PAWL_BATCH_MAX; i++)
        messages[i] = queue_message("common", "x");
    assert_ok(pawl_outbox_enqueue_batch(fixture_store(f), messages, PAWL_BATCH_MAX, NULL, &err),
              &err);
    test_free(messages);
    filter.topic = "rare";
    do {
        found += pawl_messages_count(list(f, &filter, &filter.after));
        pages++;
    } while (!PAWL_PAGE_IS_NONE(filter.after));
    assert_int_equal(1, found);
    assert_in_range(pages, 2, 3);
}

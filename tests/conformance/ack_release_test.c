/* tests/conformance/ack_release_test.c - ack, abandon, fail, renew and release. */
#include "queue_fixture.h"

typedef size_t (*answer_fn)(fixture *f, pawl_owner owner, const pawl_messages *list);

static size_t abandon_all(fixture *f, pawl_owner owner, const pawl_messages *list)
{
    return queue_abandon(f, owner, list, "abandoned", PAWL_DELAY_BY_POLICY);
}

static size_t fail_all(fixture *f, pawl_owner owner, const pawl_messages *list)
{
    return queue_fail(f, owner, list, "failed");
}

static size_t renew(fixture *f, pawl_owner owner, const pawl_messages *list)
{
    return queue_renew(f, owner, list, HOUR_MS);
}

static const answer_fn answers[] = {queue_ack, abandon_all, fail_all, renew, queue_release};

PAWL_TEST(ack_ends_a_message_as_done)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id = fixture_send(f, "t", "x");
    pawl_claim_options opts = PAWL_CLAIM_OPTIONS_INIT;
    const pawl_message *m;
    pawl_messages *list;

    opts.owner_name = "worker";
    list = queue_claim(f, queue_owner(1), MINUTE_MS, 1, &opts);
    fixture_advance(f, 1500);
    assert_int_equal(1, queue_ack(f, queue_owner(1), list));
    m = queue_get(f, id);
    assert_int_equal(PAWL_STATE_DONE, pawl_message_state(m));
    assert_time(FIXTURE_START.us + 1500000, pawl_message_finished_at(m));
    assert_string_equal("worker", pawl_message_processed_by(m));
    assert_int_equal(0, pawl_message_retries(m));
    assert_int_equal(0, pawl_message_fence(m));
    assert_true(pawl_owner_is_zero(pawl_message_owner(m)));
    assert_time(0, pawl_message_lease_until(m));
    assert_time(0, pawl_message_next_attempt_at(m));
    fixture_advance(f, DAY_MS);
    assert_int_equal(0, queue_reap(f));
    assert_string_equal("", queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 10)));
    queue_check(f);
}

PAWL_TEST(abandon_releases_a_message_and_counts_the_attempt)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id = fixture_send(f, "t", "x");
    const pawl_message *m;

    assert_int_equal(1, queue_abandon(f, queue_owner(1),
                                      fixture_claim(f, queue_owner(1), MINUTE_MS, 1),
                                      "no connection", PAWL_DELAY_BY_POLICY));
    m = queue_get(f, id);
    assert_int_equal(PAWL_STATE_SCHEDULED, pawl_message_state(m));
    assert_int_equal(1, pawl_message_retries(m));
    assert_int_equal(2, pawl_message_attempt(m));
    assert_int_equal(0, pawl_message_fence(m));
    assert_true(pawl_owner_is_zero(pawl_message_owner(m)));
    assert_time(0, pawl_message_lease_until(m));
    assert_time(FIXTURE_START.us + 1000000, pawl_message_next_attempt_at(m));
    assert_string_equal("no connection", pawl_message_last_error(m));
    queue_check(f);
}

PAWL_TEST(the_error_of_an_abandon_may_be_left_out)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id = fixture_send(f, "t", "x");

    queue_abandon(f, queue_owner(1), fixture_claim(f, queue_owner(1), MINUTE_MS, 1), NULL, 1);
    assert_null(pawl_message_last_error(queue_get(f, id)));
    fixture_advance(f, 1);
    queue_abandon(f, queue_owner(1), fixture_claim(f, queue_owner(1), MINUTE_MS, 1), "", 1);
    assert_null(pawl_message_last_error(queue_get(f, id)));
    fixture_advance(f, 1);
    queue_abandon(f, queue_owner(1), fixture_claim(f, queue_owner(1), MINUTE_MS, 1), "ünwell", 1);
    assert_string_equal("ünwell", pawl_message_last_error(queue_get(f, id)));
    assert_int_equal(3, pawl_message_retries(queue_get(f, id)));
}

PAWL_TEST(fail_makes_a_dead_letter)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id = fixture_send(f, "t", "x");
    const pawl_message *m;

    fixture_advance(f, 10);
    assert_int_equal(1,
                     queue_fail(f, queue_owner(1), fixture_claim(f, queue_owner(1), MINUTE_MS, 1),
                                "cannot be read"));
    m = queue_get(f, id);
    assert_int_equal(PAWL_STATE_FAILED, pawl_message_state(m));
    assert_string_equal("cannot be read", pawl_message_last_error(m));
    assert_time(FIXTURE_START.us + 10000, pawl_message_finished_at(m));
    assert_non_null(pawl_message_processed_by(m));
    fixture_advance(f, 30 * DAY_MS);
    assert_int_equal(0, queue_reap(f));
    assert_string_equal("", queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 10)));
    queue_check(f);
}

PAWL_TEST(the_error_of_a_fail_may_be_left_out)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id first = fixture_send(f, "t", "x");
    pawl_work_id second = fixture_send(f, "t", "y");

    queue_fail(f, queue_owner(1), fixture_claim(f, queue_owner(1), MINUTE_MS, 1), NULL);
    queue_fail(f, queue_owner(1), fixture_claim(f, queue_owner(1), MINUTE_MS, 1), "");
    assert_null(pawl_message_last_error(queue_get(f, first)));
    assert_null(pawl_message_last_error(queue_get(f, second)));
}

PAWL_TEST(renew_moves_the_end_of_the_lease)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id = fixture_send(f, "t", "x");
    pawl_messages *list = fixture_claim(f, queue_owner(1), 10 * SECOND_MS, 1);
    const pawl_message *m;

    fixture_advance(f, 8 * SECOND_MS);
    assert_int_equal(1, queue_renew(f, queue_owner(1), list, 10 * SECOND_MS));
    m = queue_get(f, id);
    assert_time(FIXTURE_START.us + 18 * 1000000, pawl_message_lease_until(m));
    assert_int_equal(fixture_receipt(list, 0).fence, pawl_message_fence(m));
    fixture_advance(f, 9 * SECOND_MS);
    assert_int_equal(0, queue_reap(f));
    assert_int_equal(1, queue_ack(f, queue_owner(1), list));
}

PAWL_TEST(renew_uses_the_messages_own_lease)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "x");
    pawl_messages *list;
    pawl_work_id id;

    message.lease_ms = 5 * MINUTE_MS;
    id = queue_send(f, &message).work_id;
    list = fixture_claim(f, queue_owner(1), SECOND_MS, 1);
    fixture_advance(f, MINUTE_MS);
    assert_int_equal(1, queue_renew(f, queue_owner(1), list, SECOND_MS));
    assert_time(FIXTURE_START.us + 360 * INT64_C(1000000),
                pawl_message_lease_until(queue_get(f, id)));
}

PAWL_TEST(release_makes_a_message_ready_at_once_and_uncounted)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id = fixture_send(f, "t", "x");
    pawl_messages *list = fixture_claim(f, queue_owner(1), MINUTE_MS, 1);
    const pawl_message *m;

    fixture_advance(f, 100);
    assert_int_equal(1, queue_release(f, queue_owner(1), list));
    m = queue_get(f, id);
    assert_int_equal(PAWL_STATE_READY, pawl_message_state(m));
    assert_int_equal(0, pawl_message_retries(m));
    assert_time(0, pawl_message_lease_until(m));
    assert_time(FIXTURE_START.us + 100000, pawl_message_next_attempt_at(m));
    list = fixture_claim(f, queue_owner(2), MINUTE_MS, 1);
    assert_string_equal("x", queue_payloads(list));
    assert_int_equal(1, pawl_message_attempt(pawl_messages_at(list, 0)));
    queue_check(f);
}

PAWL_TEST(an_owner_cannot_acknowledge_the_messages_of_another)
{
    fixture *f = fixture_open(NULL);
    pawl_messages *list;
    const char *before;

    fixture_send(f, "t", "x");
    list = fixture_claim(f, queue_owner(1), MINUTE_MS, 1);
    before = queue_fingerprint(f);
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        assert_int_equal(0, answers[i](f, queue_owner(2), list));
        assert_string_equal(before, queue_fingerprint(f));
    }
    assert_int_equal(1, queue_ack(f, queue_owner(1), list));
}

PAWL_TEST(finished_messages_are_skipped)
{
    fixture *f = fixture_open(NULL);
    pawl_messages *list;
    const char *before;

    for (size_t end = 0; end < 3; end++) {
        fixture_send(f, "t", "x");
        list = fixture_claim(f, queue_owner(1), MINUTE_MS, 1);
        assert_int_equal(1, answers[end](f, queue_owner(1), list));
        before = queue_fingerprint(f);
        for (size_t i = 0; i < COUNT_OF(answers); i++)
            assert_int_equal(0, answers[i](f, queue_owner(1), list));
        assert_string_equal(before, queue_fingerprint(f));
    }
}

typedef pawl_status (*raw_answer)(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                                  size_t count, size_t *ret_changed, pawl_error *err);

static pawl_status raw_abandon(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                               size_t count, size_t *ret_changed, pawl_error *err)
{
    return pawl_queue_abandon(store, owner, items, count, NULL, 1000, ret_changed, err);
}

static pawl_status raw_fail(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                            size_t count, size_t *ret_changed, pawl_error *err)
{
    return pawl_queue_fail(store, owner, items, count, NULL, ret_changed, err);
}

static pawl_status raw_renew(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                             size_t count, size_t *ret_changed, pawl_error *err)
{
    return pawl_queue_renew(store, owner, items, count, 1000, ret_changed, err);
}

static const raw_answer raw_answers[] = {pawl_queue_ack, raw_abandon, raw_fail, raw_renew,
                                         pawl_queue_release};

PAWL_TEST(unknown_ids_and_duplicates_are_skipped_and_not_counted)
{
    fixture *f = fixture_open(NULL);

    for (size_t i = 0; i < COUNT_OF(raw_answers); i++) {
        pawl_error err = PAWL_ERROR_INIT;
        pawl_receipt items[6];
        pawl_messages *list;
        size_t changed = 0;

        fixture_send(f, test_note("topic%zu", i), "x");
        fixture_send(f, test_note("topic%zu", i), "y");
        list = fixture_claim(f, queue_owner(1), MINUTE_MS, 10);
        items[0] = fixture_receipt(list, 0);
        items[1] = (pawl_receipt){{INT64_MAX}, items[0].fence};
        items[2] = fixture_receipt(list, 1);
        items[3] = (pawl_receipt){{-5}, items[0].fence};
        items[4] = (pawl_receipt){{0}, items[0].fence};
        items[5] = items[0];
        assert_ok(raw_answers[i](fixture_store(f), queue_owner(1), items, 6, &changed, &err), &err);
        /* A renewal may be said twice of one item; everything else happens once. */
        if (raw_answers[i] == raw_renew)
            assert_true(changed == 2 || changed == 3);
        else
            assert_int_equal(2, changed);
        queue_check(f);
        queue_ack(f, queue_owner(1), list);
        queue_ack(f, queue_owner(1), fixture_claim(f, queue_owner(1), MINUTE_MS, 10));
    }
}

PAWL_TEST(an_empty_list_does_nothing)
{
    fixture *f = fixture_open(NULL);
    const char *before = queue_fingerprint(f);

    for (size_t i = 0; i < COUNT_OF(raw_answers); i++) {
        pawl_error err = PAWL_ERROR_INIT;
        pawl_receipt item = {{1}, 1};
        size_t changed = 9;

        assert_ok(raw_answers[i](fixture_store(f), queue_owner(1), &item, 0, &changed, &err), &err);
        assert_int_equal(0, changed);
        assert_ok(raw_answers[i](fixture_store(f), queue_owner(1), &item, 1, NULL, NULL), NULL);
    }
    assert_string_equal(before, queue_fingerprint(f));
}

PAWL_TEST(a_list_with_items_of_other_owners_changes_only_the_callers)
{
    fixture *f = fixture_open(NULL);

    for (size_t i = 0; i < COUNT_OF(raw_answers); i++) {
        pawl_error err = PAWL_ERROR_INIT;
        pawl_messages *mine, *others;
        pawl_receipt items[3];
        size_t changed = 0;

        for (int n = 0; n < 3; n++)
            fixture_send(f, test_note("topic%zu", i), "x");
        mine = fixture_claim(f, queue_owner(1), MINUTE_MS, 2);
        others = fixture_claim(f, queue_owner(2), MINUTE_MS, 1);
        items[0] = fixture_receipt(others, 0);
        items[1] = fixture_receipt(mine, 0);
        items[2] = fixture_receipt(mine, 1);
        assert_ok(raw_answers[i](fixture_store(f), queue_owner(1), items, 3, &changed, &err), &err);
        assert_int_equal(2, changed);
        assert_int_equal(1, queue_ack(f, queue_owner(2), others));
        queue_ack(f, queue_owner(1), mine);
        queue_ack(f, queue_owner(1), fixture_claim(f, queue_owner(1), MINUTE_MS, 10));
        queue_check(f);
    }
}

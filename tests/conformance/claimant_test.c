/* tests/conformance/claimant_test.c - an owner that answers by work id alone. */
#include "queue_fixture.h"

static void free_claimant(void *claimant)
{
    pawl_claimant_free(claimant);
}

static pawl_claimant *claimant_new(fixture *f, pawl_owner owner, const pawl_claim_options *opts)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_claimant *claimant = NULL;

    assert_ok(pawl_claimant_new(fixture_store(f), owner, opts, &claimant, &err), &err);
    test_defer(free_claimant, claimant);
    return claimant;
}

static pawl_messages *take_messages(pawl_claimant *claimant, int64_t lease_ms, int limit)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;

    assert_ok(pawl_claimant_claim(claimant, lease_ms, limit, &list, &err), &err);
    return queue_keep(list);
}

PAWL_TEST(a_claimant_ends_its_messages_by_id)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_claimant *claimant = claimant_new(f, queue_owner(1), NULL);
    pawl_work_id ids[5];
    size_t changed = 0;

    for (int i = 0; i < 5; i++)
        ids[i] = fixture_send(f, "t", "x");
    assert_int_equal(5, pawl_messages_count(take_messages(claimant, MINUTE_MS, 10)));
    assert_ok(pawl_claimant_renew(claimant, ids, 5, HOUR_MS, &changed, &err), &err);
    assert_int_equal(5, changed);
    assert_time(FIXTURE_START.us + HOUR_MS * 1000, pawl_message_lease_until(queue_get(f, ids[0])));
    assert_ok(pawl_claimant_ack(claimant, &ids[0], 1, &changed, &err), &err);
    assert_int_equal(1, changed);
    assert_ok(pawl_claimant_abandon(claimant, &ids[1], 1, "why", 2000, &changed, &err), &err);
    assert_int_equal(1, changed);
    assert_ok(pawl_claimant_fail(claimant, &ids[2], 1, "no", &changed, &err), &err);
    assert_int_equal(1, changed);
    assert_ok(pawl_claimant_release(claimant, &ids[3], 1, &changed, &err), &err);
    assert_int_equal(1, changed);
    assert_int_equal(PAWL_STATE_DONE, fixture_state(f, ids[0]));
    assert_int_equal(1, pawl_message_retries(queue_get(f, ids[1])));
    assert_int_equal(PAWL_STATE_FAILED, fixture_state(f, ids[2]));
    assert_int_equal(PAWL_STATE_READY, fixture_state(f, ids[3]));
    assert_int_equal(PAWL_STATE_RUNNING, fixture_state(f, ids[4]));
    queue_check(f);
}

PAWL_TEST(a_claimant_skips_unknown_and_duplicate_ids)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_claimant *claimant = claimant_new(f, queue_owner(1), NULL);
    pawl_work_id mine = fixture_send(f, "t", "x");
    pawl_work_id ids[5] = {{0}, {-1}, mine, {424242}, mine};
    size_t changed = 9;

    assert_ok(pawl_claimant_ack(claimant, ids, 5, &changed, &err), &err);
    assert_int_equal(0, changed);
    take_messages(claimant, MINUTE_MS, 1);
    assert_ok(pawl_claimant_ack(claimant, ids, 5, &changed, &err), &err);
    assert_int_equal(1, changed);
    assert_ok(pawl_claimant_ack(claimant, ids, 5, &changed, &err), &err);
    assert_int_equal(0, changed);
    assert_ok(pawl_claimant_ack(claimant, ids, 0, &changed, &err), &err);
    assert_int_equal(0, changed);
}

PAWL_TEST(a_claimant_cannot_end_messages_of_another_one_of_the_same_owner)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_claimant *early = claimant_new(f, queue_owner(1), NULL);
    pawl_claimant *late = claimant_new(f, queue_owner(1), NULL);
    pawl_work_id id = fixture_send(f, "t", "x");
    size_t changed = 9;

    take_messages(early, SECOND_MS, 1);
    fixture_advance(f, 2 * SECOND_MS);
    assert_int_equal(1, queue_reap(f));
    assert_int_equal(1, pawl_messages_count(take_messages(late, MINUTE_MS, 1)));
    assert_ok(pawl_claimant_ack(early, &id, 1, &changed, &err), &err);
    assert_int_equal(0, changed);
    assert_ok(pawl_claimant_ack(late, &id, 1, &changed, &err), &err);
    assert_int_equal(1, changed);
}

PAWL_TEST(a_claimant_uses_its_latest_fence)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_claimant *claimant = claimant_new(f, queue_owner(1), NULL);
    pawl_work_id id = fixture_send(f, "t", "x");
    size_t changed = 0;

    take_messages(claimant, SECOND_MS, 1);
    fixture_advance(f, 2 * SECOND_MS);
    assert_int_equal(1, queue_reap(f));
    take_messages(claimant, MINUTE_MS, 1);
    assert_ok(pawl_claimant_ack(claimant, &id, 1, &changed, &err), &err);
    assert_int_equal(1, changed);
    assert_int_equal(PAWL_STATE_DONE, fixture_state(f, id));
}

PAWL_TEST(a_claimant_keeps_many_fences_apart)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_claimant *claimant = claimant_new(f, queue_owner(1), NULL);
    pawl_message_spec messages[1000];
    pawl_enqueued sent[1000];
    pawl_work_id ids[1000];
    size_t changed = 0;

    for (int i = 0; i < 1000; i++)
        messages[i] = queue_message("t", "x");
    assert_ok(pawl_outbox_enqueue_batch(fixture_store(f), messages, 1000, sent, &err), &err);
    for (int i = 0; i < 1000; i++)
        ids[i] = sent[i].work_id;
    for (int i = 0; i < 20; i++)
        assert_int_equal(50, pawl_messages_count(take_messages(claimant, MINUTE_MS, 50)));
    for (size_t i = 0; i < 1000; i += 100) {
        assert_ok(pawl_claimant_ack(claimant, &ids[i], 50, &changed, &err), &err);
        assert_int_equal(50, changed);
    }
    assert_ok(pawl_claimant_release(claimant, ids, 1000, &changed, &err), &err);
    assert_int_equal(500, changed);
    queue_check(f);
}

PAWL_TEST(a_claimant_has_topics_and_a_name_of_its_own)
{
    fixture *f = fixture_open(NULL);
    char topic[] = "wanted", name[] = "me";
    const char *topics[] = {topic};
    pawl_claim_options opts = PAWL_CLAIM_OPTIONS_INIT;
    pawl_claimant *claimant;
    pawl_messages *list;

    fixture_send(f, "other", "o");
    fixture_send(f, "wanted", "w");
    opts.topics = topics;
    opts.topic_count = 1;
    opts.owner_name = name;
    claimant = claimant_new(f, queue_owner(1), &opts);
    topic[0] = name[0] = 'X'; /* everything was copied */
    topics[0] = NULL;
    list = take_messages(claimant, MINUTE_MS, 10);
    assert_string_equal("w", queue_payloads(list));
    assert_string_equal("me", pawl_message_claimed_by(pawl_messages_at(list, 0)));
    assert_true(pawl_owner_equal(queue_owner(1), pawl_message_owner(pawl_messages_at(list, 0))));
}

PAWL_TEST(a_claimant_checks_its_arguments)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_claimant *claimant = NULL;
    pawl_messages *list = NULL;
    pawl_work_id id = {1};
    pawl_owner no_owner = {{0}};

    assert_status(PAWL_E_INVALID,
                  pawl_claimant_new(fixture_store(f), no_owner, NULL, &claimant, &err), &err);
    assert_says(&err, "owner");
    assert_status(PAWL_E_INVALID, pawl_claimant_new(NULL, queue_owner(1), NULL, &claimant, &err),
                  &err);
    assert_null(claimant);
    claimant = claimant_new(f, queue_owner(1), NULL);
    assert_status(PAWL_E_INVALID, pawl_claimant_claim(claimant, 0, 1, &list, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_claimant_claim(claimant, 1, 0, &list, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_claimant_ack(claimant, NULL, 1, NULL, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_claimant_renew(claimant, &id, 1, 0, NULL, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_claimant_abandon(claimant, &id, 1, NULL, 0, NULL, &err),
                  &err);
    assert_null(list);
    pawl_claimant_free(NULL);
}

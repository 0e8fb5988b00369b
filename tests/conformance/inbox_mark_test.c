/* tests/conformance/inbox_mark_test.c - the inbox's small calls. */
#include "inbox_fixture.h"

static bool already(fixture *f, const char *id)
{
    pawl_error err = PAWL_ERROR_INIT;
    bool processed = false;

    assert_ok(pawl_inbox_already_processed(fixture_store(f), "shop", id, NULL, &processed, &err),
              &err);
    return processed;
}

PAWL_TEST(a_message_goes_from_seen_to_processing_to_done)
{
    fixture *f = inbox_fixture(NULL);
    pawl_store *store = fixture_store(f);
    pawl_error err = PAWL_ERROR_INIT;

    assert_false(already(f, "1"));
    assert_int_equal(PAWL_INBOX_SEEN, inbox_record(f, "1")->state);
    assert_int_equal(0, inbox_record(f, "1")->attempts);
    fixture_advance(f, SECOND_MS);
    assert_false(already(f, "1"));
    assert_time(FIXTURE_START.us, inbox_record(f, "1")->first_seen);
    assert_time(FIXTURE_START.us + 1000000, inbox_record(f, "1")->last_seen);
    assert_ok(pawl_inbox_mark_processing(store, "shop", "1", &err), &err);
    assert_int_equal(1, inbox_record(f, "1")->attempts);
    assert_false(already(f, "1"));
    assert_ok(pawl_inbox_mark_processed(store, "shop", "1", &err), &err);
    assert_true(already(f, "1"));
    assert_int_equal(1, inbox_record(f, "1")->duplicates);
    assert_ok(pawl_inbox_mark_processed(store, "shop", "1", &err), &err); /* twice is fine */
    assert_status(PAWL_E_LOST, pawl_inbox_mark_processing(store, "shop", "1", &err), &err);
    assert_status(PAWL_E_LOST, pawl_inbox_mark_dead(store, "shop", "1", NULL, &err), &err);
    assert_answer(PAWL_INBOX_DUPLICATE, inbox_begin(f, "1", NULL));
}

static const char *mark_on_another_thread(void *context, size_t index)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_status st = pawl_inbox_mark_processing(fixture_store(context), "shop", "1", &err);

    (void)index;
    return st == PAWL_E_HELD ? NULL : test_note("another thread got %s", pawl_status_name(st));
}

PAWL_TEST(of_several_that_begin_one_wins)
{
    fixture *f = inbox_fixture(NULL);
    pawl_store *store = fixture_store(f), *another = fixture_another_store(f);
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_inbox_mark_processing(store, "shop", "1", &err), &err); /* also unseen */
    assert_status(PAWL_E_HELD, pawl_inbox_mark_processing(another, "shop", "1", &err), &err);
    assert_true(err.retryable);
    test_threads(1, mark_on_another_thread, f);
    assert_int_equal(1, inbox_record(f, "1")->attempts);
    fixture_advance(f, 30 * SECOND_MS);
    assert_ok(pawl_inbox_mark_processing(another, "shop", "1", &err), &err);
    assert_int_equal(2, inbox_record(f, "1")->attempts);
    assert_status(PAWL_E_HELD, pawl_inbox_mark_processing(store, "shop", "1", &err), &err);
}

/* "Advanced Usage with Retry Logic": the same caller marks it again for each attempt. */
PAWL_TEST(a_caller_that_retries_marks_it_again_and_each_attempt_is_counted)
{
    fixture *f = inbox_fixture(NULL);
    pawl_store *store = fixture_store(f);
    pawl_error err = PAWL_ERROR_INIT;

    assert_false(already(f, "1"));
    for (int attempt = 1; attempt <= 3; attempt++) {
        assert_ok(pawl_inbox_mark_processing(store, "shop", "1", &err), &err);
        assert_int_equal(attempt, inbox_record(f, "1")->attempts);
        fixture_advance(f, 20 * SECOND_MS); /* its delay; the lease begins again each time */
        assert_status(PAWL_E_HELD,
                      pawl_inbox_mark_processing(fixture_another_store(f), "shop", "1", &err),
                      &err);
    }
    assert_ok(pawl_inbox_mark_processed(store, "shop", "1", &err), &err);
    assert_true(already(f, "1"));
    for (int attempt = 1; attempt <= 10; attempt++)
        assert_ok(pawl_inbox_mark_processing(store, "shop", "2", &err), &err);
    assert_status(PAWL_E_LOST, pawl_inbox_mark_processing(store, "shop", "2", &err), &err);
    assert_int_equal(PAWL_INBOX_DEAD, inbox_record(f, "2")->state);
    assert_int_equal(10, inbox_record(f, "2")->attempts);
}

PAWL_TEST(a_caller_that_is_no_thread_has_a_name)
{
    fixture *f = inbox_fixture(NULL);
    pawl_store *store = fixture_store(f), *another = fixture_another_store(f);
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_inbox_mark_processing_by(store, "shop", "1", "task 7", &err), &err);
    assert_ok(pawl_inbox_mark_processing_by(another, "shop", "1", "task 7", &err), &err);
    assert_status(PAWL_E_HELD, pawl_inbox_mark_processing_by(store, "shop", "1", "task 8", &err),
                  &err);
    assert_status(PAWL_E_HELD, pawl_inbox_mark_processing(store, "shop", "1", &err), &err);
    assert_status(PAWL_E_INVALID, pawl_inbox_mark_processing_by(store, "shop", "1", "", &err),
                  &err);
    if (!fixture_is_postgres(f))
        return;
    assert_string_equal("new", fixture_text(f, "SELECT answer FROM {inbox_begin}('shop', '1',"
                                               " holder => 'task 7')"));
    assert_string_equal("in_progress",
                        fixture_text(f, "SELECT answer FROM {inbox_begin}('shop', '1',"
                                        " holder => 'task 8')"));
}

PAWL_TEST(a_delivery_marked_dead_is_refused)
{
    fixture *f = inbox_fixture(NULL);
    pawl_store *store = fixture_store(f);
    pawl_error err = PAWL_ERROR_INIT;

    assert_status(PAWL_E_NOT_FOUND, pawl_inbox_mark_dead(store, "shop", "1", "x", &err), &err);
    assert_status(PAWL_E_NOT_FOUND, pawl_inbox_mark_processed(store, "shop", "1", &err), &err);
    assert_ok(pawl_inbox_mark_processing(store, "shop", "1", &err), &err);
    assert_ok(pawl_inbox_mark_dead(store, "shop", "1", "broken", &err), &err);
    assert_ok(pawl_inbox_mark_dead(store, "shop", "1", "again", &err), &err);
    assert_string_equal("broken", inbox_record(f, "1")->error);
    assert_false(already(f, "1"));
    assert_status(PAWL_E_LOST, pawl_inbox_mark_processing(store, "shop", "1", &err), &err);
    assert_status(PAWL_E_LOST, pawl_inbox_mark_processed(store, "shop", "1", &err), &err);
    assert_answer(PAWL_INBOX_REJECTED, inbox_call(f, "1", NULL));
}

PAWL_TEST(other_content_is_a_conflict)
{
    fixture *f = inbox_fixture(NULL);
    pawl_store *store = fixture_store(f);
    pawl_error err = PAWL_ERROR_INIT;
    uint8_t one[PAWL_HASH_SIZE] = {1}, two[PAWL_HASH_SIZE] = {2};
    bool processed = false;
    pawl_status st;

    assert_false(already(f, "1")); /* the hash may come later */
    assert_ok(pawl_inbox_already_processed(store, "shop", "1", one, &processed, &err), &err);
    fixture_advance(f, SECOND_MS);
    st = pawl_inbox_already_processed(store, "shop", "1", two, &processed, &err);
    assert_status(PAWL_E_CONFLICT, st, &err);
    assert_time(FIXTURE_START.us, inbox_record(f, "1")->last_seen);
    assert_memory_equal(one, inbox_record(f, "1")->hash, sizeof one);
    assert_ok(pawl_inbox_already_processed(store, "shop", "1", one, &processed, &err), &err);
    assert_false(processed);
}

PAWL_TEST(bad_arguments_are_refused)
{
    fixture *f = inbox_fixture(NULL);
    pawl_store *store = fixture_store(f);
    pawl_error err = PAWL_ERROR_INIT;
    bool processed = true;

    assert_status(PAWL_E_INVALID,
                  pawl_inbox_already_processed(NULL, "a", "b", NULL, &processed, &err), &err);
    assert_status(PAWL_E_INVALID,
                  pawl_inbox_already_processed(store, "", "b", NULL, &processed, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_inbox_already_processed(store, "a", "b", NULL, NULL, &err),
                  &err);
    assert_status(PAWL_E_INVALID, pawl_inbox_mark_processing(NULL, "a", "b", &err), &err);
    assert_status(PAWL_E_INVALID, pawl_inbox_mark_processed(store, "a", "", &err), &err);
    assert_status(PAWL_E_INVALID, pawl_inbox_mark_dead(NULL, "a", "b", NULL, &err), &err);
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {inbox_record}"));
}

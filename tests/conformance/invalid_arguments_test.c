/* tests/conformance/invalid_arguments_test.c - wrong arguments: a clear answer, and nothing
 * changed. */
#include "queue_fixture.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Alone, in the middle of a batch and in a transaction: refused, named, without a trace. */
static void invalid_arguments_refuse(fixture *f, const pawl_message_spec *bad, pawl_status expected,
                                     const char *says)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec batch[3] = {queue_message("t", "x"), *bad, queue_message("t", "y")};
    const char *before = queue_fingerprint(f);
    pawl_enqueued sent = {{-1}, {{0}}, false};
    pawl_tx *tx;

    assert_status(expected, pawl_outbox_enqueue(fixture_store(f), bad, &sent, &err), &err);
    assert_says(&err, says);
    assert_int_equal(-1, sent.work_id.value);
    assert_status(expected, pawl_outbox_enqueue_batch(fixture_store(f), batch, 3, NULL, &err),
                  &err);
    assert_says(&err, says);
    tx = fixture_tx_begin(f, 0);
    assert_status(expected, pawl_tx_enqueue(tx, bad, NULL, &err), &err);
    fixture_tx_commit(f, 0);
    assert_string_equal(before, queue_fingerprint(f));
}

static const char *repeated(const char *piece, size_t count)
{
    size_t size = strlen(piece);
    char text[4096] = "";

    assert_true(size * count < sizeof text);
    for (size_t i = 0; i < count; i++)
        memcpy(text + i * size, piece, size);
    return test_note("%s", text);
}

PAWL_TEST(a_topic_has_1_to_255_characters_of_utf8)
{
    fixture *f = fixture_open(NULL);
    const char *bad[] = {NULL,
                         "",
                         repeated("x", 256),
                         repeated("\xC3\xBC", 256),
                         "half \xF0\x9F",
                         "\xC0\x80",
                         "\xED\xA0\x80"};

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        pawl_message_spec message = queue_message(bad[i], "x");

        invalid_arguments_refuse(f, &message, PAWL_E_INVALID, "topic");
    }
}

PAWL_TEST(a_payload_is_never_null)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", NULL);

    invalid_arguments_refuse(f, &message, PAWL_E_INVALID, "payload");
    message.payload_size = 5;
    invalid_arguments_refuse(f, &message, PAWL_E_INVALID, "payload");
}

PAWL_TEST(a_payload_beyond_the_engines_limit_is_not_read)
{
    fixture *f = fixture_open(NULL);
    const size_t size = (size_t)3 << 30;
    pawl_message_spec message = queue_message("t", NULL);
    /* Reading a byte of it would end the process. */
    void *payload = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    assert_true(payload != MAP_FAILED);
    message.payload = payload;
    message.payload_size = size;
    invalid_arguments_refuse(f, &message, PAWL_E_TOO_LARGE, "payload");
    munmap(payload, size);
}

PAWL_TEST(a_correlation_id_has_255_characters_of_utf8_at_most)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "x");

    message.correlation_id = repeated("x", 256);
    invalid_arguments_refuse(f, &message, PAWL_E_INVALID, "correlation");
    message.correlation_id = "\xFF";
    invalid_arguments_refuse(f, &message, PAWL_E_INVALID, "correlation");
}

PAWL_TEST(headers_are_a_json_object)
{
    static const char *const bad[] = {"",  "[]",     "1",           "null",    "\"x\"",
                                      "{", "{a: 1}", "{\"a\": 1,}", "{} junk", "{\"a\":\"\xFF\"}"};
    fixture *f = fixture_open(NULL);

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        pawl_message_spec message = queue_message("t", "x");

        message.headers = bad[i];
        invalid_arguments_refuse(f, &message, PAWL_E_INVALID, "headers");
    }
}

PAWL_TEST(a_destination_has_a_text_of_limited_length)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "x");

    message.destination = "";
    invalid_arguments_refuse(f, &message, PAWL_E_INVALID, "destination");
    message.destination = repeated("x", PAWL_DESTINATION_MAX + 1);
    invalid_arguments_refuse(f, &message, PAWL_E_INVALID, "destination");
    message.destination = "\x80";
    invalid_arguments_refuse(f, &message, PAWL_E_INVALID, "destination");
}

PAWL_TEST(numbers_of_a_message_are_in_range)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec good = queue_message("t", "x"), message = good;

    message.priority = 10;
    invalid_arguments_refuse(f, &message, PAWL_E_INVALID, "priority");
    message.priority = -1;
    invalid_arguments_refuse(f, &message, PAWL_E_INVALID, "priority");
    message = good;
    message.type = (pawl_type)4;
    invalid_arguments_refuse(f, &message, PAWL_E_INVALID, "type");
    message = good;
    message.max_attempts = -1;
    invalid_arguments_refuse(f, &message, PAWL_E_INVALID, "max_attempts");
    message.max_attempts = 1001;
    invalid_arguments_refuse(f, &message, PAWL_E_INVALID, "max_attempts");
    message = good;
    message.backoff = (pawl_backoff){1000, 500, 0};
    invalid_arguments_refuse(f, &message, PAWL_E_INVALID, "backoff");
    message.backoff = (pawl_backoff){-1, 500, 0};
    invalid_arguments_refuse(f, &message, PAWL_E_INVALID, "backoff");
    message.backoff = (pawl_backoff){10, 500, -2};
    invalid_arguments_refuse(f, &message, PAWL_E_INVALID, "backoff");
    message.backoff = (pawl_backoff){0, 500, 0};
    invalid_arguments_refuse(f, &message, PAWL_E_INVALID, "backoff");
    message = good;
    message.count = (pawl_count)3;
    invalid_arguments_refuse(f, &message, PAWL_E_INVALID, "count");
}

PAWL_TEST(times_of_a_message_are_in_range)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec good = queue_message("t", "x"), message = good;

    message.delay_ms = -1;
    invalid_arguments_refuse(f, &message, PAWL_E_INVALID, "delay_ms");
    message.delay_ms = INT64_MAX;
    invalid_arguments_refuse(f, &message, PAWL_E_INVALID, "delay_ms");
    message.delay_ms = 1;
    message.due_at = FIXTURE_START;
    invalid_arguments_refuse(f, &message, PAWL_E_INVALID, "due_at");
    message = good;
    message.due_at = (pawl_wall){INT64_MAX};
    invalid_arguments_refuse(f, &message, PAWL_E_INVALID, "due_at");
    message.due_at = (pawl_wall){INT64_MIN};
    invalid_arguments_refuse(f, &message, PAWL_E_INVALID, "due_at");
    message = good;
    message.expires_at = (pawl_wall){-1};
    invalid_arguments_refuse(f, &message, PAWL_E_INVALID, "expires_at");
    message.expires_at = (pawl_wall){INT64_MAX};
    invalid_arguments_refuse(f, &message, PAWL_E_INVALID, "expires_at");
    message.expires_at = message.due_at = FIXTURE_START;
    invalid_arguments_refuse(f, &message, PAWL_E_INVALID, "expires_at");
    message = good;
    message.lease_ms = -1;
    invalid_arguments_refuse(f, &message, PAWL_E_INVALID, "lease_ms");
    message.lease_ms = 8 * DAY_MS;
    invalid_arguments_refuse(f, &message, PAWL_E_INVALID, "lease_ms");
}

PAWL_TEST(the_extremes_that_are_allowed_work)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "x");
    const pawl_message *m;

    message.destination = repeated("x", PAWL_DESTINATION_MAX);
    message.due_at = (pawl_wall){INT64_C(253402300799000000)};
    message.lease_ms = 7 * DAY_MS;
    message.max_attempts = 1000;
    m = queue_get(f, queue_send(f, &message).work_id);
    assert_time(message.due_at.us, pawl_message_due_at(m));
    message.due_at = (pawl_wall){-1};
    m = queue_get(f, queue_send(f, &message).work_id);
    assert_time(-1, pawl_message_due_at(m));
}

PAWL_TEST(a_batch_needs_messages)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec message = queue_message("t", "x");

    assert_status(PAWL_E_INVALID, pawl_outbox_enqueue(fixture_store(f), NULL, NULL, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_outbox_enqueue(NULL, &message, NULL, &err), &err);
    assert_says(&err, "store");
    assert_status(PAWL_E_INVALID, pawl_outbox_enqueue_batch(fixture_store(f), NULL, 1, NULL, &err),
                  &err);
    assert_status(PAWL_E_INVALID,
                  pawl_outbox_enqueue_batch(fixture_store(f), &message, 0, NULL, &err), &err);
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {body}"));
}

static void refuse_claim(fixture *f, pawl_owner owner, int64_t lease_ms, int limit,
                         const pawl_claim_options *opts, const char *says)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;
    const char *before = queue_fingerprint(f);

    assert_status(PAWL_E_INVALID,
                  pawl_queue_claim(fixture_store(f), owner, lease_ms, limit, opts, &list, &err),
                  &err);
    assert_says(&err, says);
    assert_null(list);
    assert_string_equal(before, queue_fingerprint(f));
}

PAWL_TEST(a_claim_needs_an_owner_a_lease_and_a_limit)
{
    fixture *f = fixture_open(NULL);
    pawl_owner no_owner = {{0}};

    fixture_send(f, "t", "x");
    refuse_claim(f, no_owner, MINUTE_MS, 1, NULL, "owner");
    refuse_claim(f, queue_owner(1), 0, 1, NULL, "lease");
    refuse_claim(f, queue_owner(1), -1, 1, NULL, "lease");
    refuse_claim(f, queue_owner(1), INT64_MIN, 1, NULL, "lease");
    refuse_claim(f, queue_owner(1), 7 * DAY_MS + 1, 1, NULL, "lease");
    refuse_claim(f, queue_owner(1), MINUTE_MS, 0, NULL, "limit");
    refuse_claim(f, queue_owner(1), MINUTE_MS, -1, NULL, "limit");
    refuse_claim(f, queue_owner(1), MINUTE_MS, PAWL_BATCH_MAX + 1, NULL, "limit");
    assert_string_equal("x", queue_payloads(fixture_claim(f, queue_owner(1), 7 * DAY_MS, 1)));
}

PAWL_TEST(a_claims_topics_and_name_are_checked)
{
    fixture *f = fixture_open(NULL);
    const char *topics[1001] = {NULL};
    pawl_claim_options opts = PAWL_CLAIM_OPTIONS_INIT;

    fixture_send(f, "t", "x");
    opts.topics = topics;
    refuse_claim(f, queue_owner(1), MINUTE_MS, 1, &opts, "topic");
    opts.topic_count = 1;
    refuse_claim(f, queue_owner(1), MINUTE_MS, 1, &opts, "topic");
    topics[0] = "";
    refuse_claim(f, queue_owner(1), MINUTE_MS, 1, &opts, "topic");
    topics[0] = "\xFF";
    refuse_claim(f, queue_owner(1), MINUTE_MS, 1, &opts, "topic");
    for (size_t i = 0; i < COUNT_OF(topics); i++)
        topics[i] = "t";
    opts.topic_count = 1001;
    refuse_claim(f, queue_owner(1), MINUTE_MS, 1, &opts, "topic");
    opts.topics = NULL;
    refuse_claim(f, queue_owner(1), MINUTE_MS, 1, &opts, "topic");
    opts.topic_count = 0;
    opts.owner_name = repeated("x", 256);
    refuse_claim(f, queue_owner(1), MINUTE_MS, 1, &opts, "owner_name");
    opts.owner_name = "\xFF";
    refuse_claim(f, queue_owner(1), MINUTE_MS, 1, &opts, "owner_name");
}

typedef pawl_status (*raw_answer)(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                                  size_t count, size_t *ret_changed, pawl_error *err);

static pawl_status call_abandon(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                                size_t count, size_t *ret_changed, pawl_error *err)
{
    return pawl_queue_abandon(store, owner, items, count, NULL, 1000, ret_changed, err);
}

static pawl_status call_fail(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                             size_t count, size_t *ret_changed, pawl_error *err)
{
    return pawl_queue_fail(store, owner, items, count, NULL, ret_changed, err);
}

static pawl_status renew(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                         size_t count, size_t *ret_changed, pawl_error *err)
{
    return pawl_queue_renew(store, owner, items, count, 1000, ret_changed, err);
}

PAWL_TEST(a_result_needs_an_owner_and_a_list)
{
    static const raw_answer answers[] = {pawl_queue_ack, call_abandon, call_fail, renew,
                                         pawl_queue_release};
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_owner no_owner = {{0}};
    pawl_messages *list;
    const char *before;
    size_t changed = 77;

    fixture_send(f, "t", "x");
    list = fixture_claim(f, queue_owner(1), MINUTE_MS, 1);
    before = queue_fingerprint(f);
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        raw_answer answer = answers[i];
        pawl_store *store = fixture_store(f);

        assert_status(PAWL_E_INVALID,
                      answer(store, no_owner, queue_receipts(list), 1, &changed, &err), &err);
        assert_says(&err, "owner");
        assert_status(PAWL_E_INVALID, answer(store, queue_owner(1), NULL, 1, &changed, &err), &err);
        assert_says(&err, "NULL");
        assert_status(PAWL_E_INVALID, answer(store, queue_owner(1), NULL, 0, &changed, &err), &err);
        assert_status(
            PAWL_E_INVALID,
            answer(store, queue_owner(1), queue_receipts(list), PAWL_BATCH_MAX + 1, &changed, &err),
            &err);
        assert_says(&err, "10000");
        assert_status(PAWL_E_INVALID,
                      answer(NULL, queue_owner(1), queue_receipts(list), 1, &changed, &err), &err);
    }
    assert_int_equal(77, changed);
    assert_string_equal(before, queue_fingerprint(f));
}

PAWL_TEST(delays_and_leases_of_results_are_positive)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store = fixture_store(f);
    static const int64_t bad[] = {0, -1, INT64_MIN + 1, INT64_MAX};
    const pawl_receipt *items;
    const char *before;

    fixture_send(f, "t", "x");
    items = queue_receipts(fixture_claim(f, queue_owner(1), MINUTE_MS, 1));
    before = queue_fingerprint(f);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_status(PAWL_E_INVALID,
                      pawl_queue_abandon(store, queue_owner(1), items, 1, NULL, bad[i], NULL, &err),
                      &err);
        assert_says(&err, "delay");
        assert_status(PAWL_E_INVALID,
                      pawl_queue_renew(store, queue_owner(1), items, 1, bad[i], NULL, &err), &err);
        assert_says(&err, "lease");
    }
    assert_string_equal(before, queue_fingerprint(f));
}

PAWL_TEST(an_error_text_that_is_not_utf8_does_not_stop_the_result)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id = fixture_send(f, "t", "x");
    static char longest[20000];

    assert_int_equal(1, queue_abandon(f, queue_owner(1),
                                      fixture_claim(f, queue_owner(1), MINUTE_MS, 1),
                                      "bad \xFF\xFE byte", 1));
    assert_non_null(pawl_message_last_error(queue_get(f, id)));
    fixture_advance(f, 1);
    memset(longest, 'e', sizeof longest - 1);
    assert_int_equal(
        1, queue_fail(f, queue_owner(1), fixture_claim(f, queue_owner(1), MINUTE_MS, 1), longest));
    assert_true(strlen(pawl_message_last_error(queue_get(f, id))) > 1000);
}

PAWL_TEST(lists_of_ids_and_filters_are_checked)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store = fixture_store(f);
    pawl_outbox_filter filter = PAWL_OUTBOX_FILTER_INIT;
    pawl_messages *list = NULL;
    pawl_work_id id = {1};

    assert_status(PAWL_E_INVALID, pawl_outbox_cancel(store, NULL, 1, NULL, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_outbox_retry(store, NULL, 0, NULL, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_outbox_purge(store, NULL, 1, NULL, &err), &err);
    assert_ok(pawl_outbox_purge(store, &id, 0, NULL, &err), &err);
    filter.limit = -1;
    assert_status(PAWL_E_INVALID, pawl_outbox_list(store, &filter, &list, NULL, &err), &err);
    assert_says(&err, "limit");
    filter.limit = 10001;
    assert_status(PAWL_E_INVALID, pawl_outbox_list(store, &filter, &list, NULL, &err), &err);
    filter.limit = 0;
    filter.after = (pawl_page){"a name"};
    assert_status(PAWL_E_INVALID, pawl_outbox_list(store, &filter, &list, NULL, &err), &err);
    assert_says(&err, "after");
    filter.after = (pawl_page)PAWL_PAGE_INIT;
    filter.states = 1u << PAWL_STATE_COUNT;
    assert_status(PAWL_E_INVALID, pawl_outbox_list(store, &filter, &list, NULL, &err), &err);
    assert_says(&err, "states");
    assert_status(PAWL_E_INVALID, pawl_outbox_purge_matching(store, &filter, NULL, &err), &err);
    assert_null(list);
    assert_status(PAWL_E_INVALID, pawl_outbox_list(store, NULL, NULL, NULL, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_outbox_get(store, id, NULL, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_outbox_get_stats(store, NULL, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_queue_prune(store, -1, NULL, NULL, &err), &err);
    assert_says(&err, "keep_ms");
    assert_status(PAWL_E_INVALID, pawl_queue_wait(store, -1, &err), &err);
    assert_says(&err, "timeout_ms");
}

PAWL_TEST(option_structs_may_be_shorter_and_unknown_options_are_refused)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    struct {
        pawl_message_spec known;
        int64_t unknown;
    } longer = {queue_message("t", "long"), 0};
    pawl_message_spec shorter = queue_message("t", "short");

    longer.known.size = sizeof longer;
    assert_ok(pawl_outbox_enqueue(fixture_store(f), &longer.known, NULL, &err), &err);
    longer.unknown = 1;
    assert_status(PAWL_E_INVALID, pawl_outbox_enqueue(fixture_store(f), &longer.known, NULL, &err),
                  &err);
    shorter.priority = 99; /* beyond the end that `size` gives */
    shorter.size = offsetof(pawl_message_spec, priority);
    assert_ok(pawl_outbox_enqueue(fixture_store(f), &shorter, NULL, &err), &err);
    shorter.size = 0;
    assert_status(PAWL_E_INVALID, pawl_outbox_enqueue(fixture_store(f), &shorter, NULL, &err),
                  &err);
    assert_int_equal(2, fixture_count(f, "SELECT count(*) FROM {body}"));
}

/* In the child: 0 if every call was refused as misuse. */
static int use_after_fork(pawl_store *store)
{
    pawl_message_spec message = queue_message("t", "x");
    pawl_messages *list = NULL;
    pawl_outbox_stats *stats = NULL;
    pawl_wall now;

    return pawl_outbox_enqueue(store, &message, NULL, NULL) != PAWL_E_MISUSE ||
           pawl_queue_claim(store, queue_owner(1), MINUTE_MS, 1, NULL, &list, NULL) !=
               PAWL_E_MISUSE ||
           pawl_outbox_list(store, NULL, &list, NULL, NULL) != PAWL_E_MISUSE ||
           pawl_outbox_get_stats(store, &stats, NULL) != PAWL_E_MISUSE ||
           pawl_store_now(store, &now, NULL) != PAWL_E_MISUSE ||
           pawl_queue_reap(store, NULL, NULL, NULL) != PAWL_E_MISUSE;
}

PAWL_TEST(a_store_does_not_cross_a_fork)
{
    fixture *f = fixture_open(NULL);
    int status = -1;
    pid_t child;

    fixture_send(f, "t", "x");
    child = fork();
    if (child == 0)
        _exit(use_after_fork(fixture_store(f)));
    assert_true(child > 0);
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_true(WIFEXITED(status));
    assert_int_equal(0, WEXITSTATUS(status));
    fixture_send(f, "t", "y"); /* the parent's is unharmed */
    assert_int_equal(2, fixture_count(f, "SELECT count(*) FROM {body}"));
}

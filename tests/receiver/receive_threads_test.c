/* tests/receiver/receive_threads_test.c - the results of messages that are sent to a receiver. */
#include <pthread.h>
#include <string.h>

#include "inbox_fixture.h"
#include "receiver_fixture.h"

#define ID "0190c5f0-0000-7000-8000-000000000001"

/* A receiver with a controlled_handler for every topic. */
static receiver_fixture *open_with(controlled_handler *p, pawl_receive_mode mode,
                                   const pawl_receiver_options *opts)
{
    receiver_fixture *s = receiver_open(opts);
    pawl_error err = PAWL_ERROR_INIT;

    controlled_handler_init(p, s);
    p->writes = mode == PAWL_RECEIVE_ATOMIC;
    assert_ok(pawl_receiver_handle(s->receiver, NULL, mode, controlled_handle, p, NULL, &err),
              &err);
    receiver_start(s);
    return s;
}

static void assert_body(const char *expected, const reply *r)
{
    assert_string_equal(expected, r->body);
    assert_string_equal("application/json", reply_header(r, "Content-Type"));
}

PAWL_TEST(a_new_message_has_its_effect_and_is_acknowledged)
{
    controlled_handler p;
    receiver_fixture *s = open_with(&p, PAWL_RECEIVE_ATOMIC, NULL);
    const pawl_inbox_record *record;
    reply *r;

    p.response = "{\"ok\": 1}";
    r = deliver(s, &(sample){.id = ID});
    assert_int_equal(200, r->status);
    assert_body("{\"acknowledged\":true,\"duplicateDetected\":false,\"payload\":{\"ok\": 1},"
                "\"error\":null}",
                r);
    assert_int_equal(1, inbox_orders(s->f));
    record = inbox_record(s->f, ID);
    assert_int_equal(PAWL_INBOX_DONE, record->state);
    assert_string_equal("order", record->endpoint);
}

PAWL_TEST(a_duplicate_gets_the_same_response_and_has_no_effect)
{
    controlled_handler p;
    receiver_fixture *s = open_with(&p, PAWL_RECEIVE_ATOMIC, NULL);
    reply *r;

    p.response = "{\"ok\": 1}";
    assert_int_equal(200, deliver(s, &(sample){.id = ID})->status);
    p.response = "{\"ok\": 2}";
    r = deliver(s, &(sample){.id = ID});
    assert_int_equal(200, r->status);
    assert_body("{\"acknowledged\":true,\"duplicateDetected\":true,\"payload\":{\"ok\": 1},"
                "\"error\":null}",
                r);
    assert_int_equal(1, inbox_orders(s->f));
    assert_int_equal(1, p.calls);
    assert_true(fixture_logged(s->f, PAWL_LOG_WARNING, "duplicate " ID " detected from shop"));
}

PAWL_TEST(the_same_id_from_another_source_is_another_message)
{
    controlled_handler p;
    receiver_fixture *s = open_with(&p, PAWL_RECEIVE_ATOMIC, NULL);

    assert_int_equal(200, deliver(s, &(sample){.id = ID})->status);
    assert_int_equal(200, deliver(s, &(sample){.id = ID, .source = "oldshop"})->status);
    assert_int_equal(2, inbox_orders(s->f));
}

PAWL_TEST(the_same_id_with_another_payload_is_refused)
{
    controlled_handler p;
    receiver_fixture *s = open_with(&p, PAWL_RECEIVE_ATOMIC, NULL);
    reply *r;

    assert_int_equal(200, deliver(s, &(sample){.id = ID})->status);
    r = deliver(s, &(sample){.id = ID, .payload = "{\"n\":2}"});
    assert_int_equal(422, r->status);
    assert_non_null(strstr(r->body, "\"acknowledged\":false"));
    assert_int_equal(1, inbox_orders(s->f));
    assert_int_equal(0, inbox_record(s->f, ID)->duplicates);
}

PAWL_TEST(a_message_in_flight_is_deferred)
{
    controlled_handler p;
    receiver_fixture *s = open_with(&p, PAWL_RECEIVE_CALL_OUT, NULL);
    int first = client_connect(s);
    reply *r;

    p.waits = true;
    post_begin(first, sample_text(s, &(sample){.id = ID}));
    controlled_await(&p.there);
    r = deliver(s, &(sample){.id = ID});
    assert_int_equal(409, r->status);
    assert_non_null(reply_header(r, "Retry-After"));
    assert_true(reply_header(r, "Retry-After")[0] >= '1');
    controlled_go(&p);
    assert_int_equal(200, client_read(first)->status);
    assert_int_equal(1, p.calls);
}

PAWL_TEST(a_handler_that_fails_leaves_nothing_and_is_called_again_until_it_is_dead)
{
    pawl_receiver_options options = PAWL_RECEIVER_OPTIONS_INIT;
    controlled_handler p;
    receiver_fixture *s;
    reply *r;

    options.max_attempts = 2;
    s = open_with(&p, PAWL_RECEIVE_ATOMIC, &options);
    p.result = PAWL_RETRY;
    p.error = "the warehouse is \"closed\"";
    r = deliver(s, &(sample){.id = ID});
    assert_int_equal(500, r->status);
    assert_body("{\"acknowledged\":false,\"duplicateDetected\":false,\"payload\":null,"
                "\"error\":\"the warehouse is \\\"closed\\\"\"}",
                r);
    assert_int_equal(500, deliver(s, &(sample){.id = ID})->status);
    assert_int_equal(2, p.last_attempt);
    r = deliver(s, &(sample){.id = ID});
    assert_int_equal(422, r->status);
    assert_non_null(strstr(r->body, "dead after 2 attempts"));
    assert_int_equal(2, p.calls);
    assert_int_equal(0, inbox_orders(s->f));
    assert_int_equal(PAWL_INBOX_DEAD, inbox_record(s->f, ID)->state);
}

PAWL_TEST(a_handler_result_of_fail_makes_it_a_dead_letter_at_once)
{
    controlled_handler p;
    receiver_fixture *s = open_with(&p, PAWL_RECEIVE_ATOMIC, NULL);

    p.result = PAWL_FAIL;
    p.error = "no such product";
    assert_int_equal(422, deliver(s, &(sample){.id = ID})->status);
    p.result = PAWL_DONE;
    assert_int_equal(422, deliver(s, &(sample){.id = ID})->status);
    assert_int_equal(1, p.calls);
    assert_string_equal("no such product", inbox_record(s->f, ID)->error);
}

PAWL_TEST(a_call_out_has_no_transaction_and_is_remembered)
{
    controlled_handler p;
    receiver_fixture *s = open_with(&p, PAWL_RECEIVE_CALL_OUT, NULL);
    reply *r;

    p.response = "not json";
    assert_int_equal(200, deliver(s, &(sample){.id = ID})->status);
    r = deliver(s, &(sample){.id = ID});
    assert_int_equal(200, r->status);
    assert_non_null(strstr(r->body, "\"duplicateDetected\":true"));
    assert_int_equal(1, p.calls);
}

PAWL_TEST(a_response_that_is_too_large_is_a_failure)
{
    pawl_receiver_options options = PAWL_RECEIVER_OPTIONS_INIT;
    controlled_handler p;
    receiver_fixture *s;

    options.max_response_bytes = 4;
    s = open_with(&p, PAWL_RECEIVE_ATOMIC, &options);
    p.response = "12345";
    assert_int_equal(500, deliver(s, &(sample){.id = ID})->status);
    assert_int_equal(0, inbox_orders(s->f));
}

PAWL_TEST(a_message_without_a_handler_is_refused_and_leaves_no_trace)
{
    receiver_fixture *s = receiver_open(NULL);
    controlled_handler p;
    pawl_error err = PAWL_ERROR_INIT;

    controlled_handler_init(&p, s);
    assert_ok(pawl_receiver_handle(s->receiver, "order", PAWL_RECEIVE_CALL_OUT, controlled_handle,
                                   &p, NULL, &err),
              &err);
    receiver_start(s);
    assert_int_equal(404, deliver(s, &(sample){.topic = "Order"})->status);
    assert_int_equal(0, inbox_count(s));
    assert_int_equal(200, deliver(s, &(sample){.topic = "order"})->status);
}

PAWL_TEST(a_topic_has_its_own_handler_before_that_of_all)
{
    receiver_fixture *s = receiver_open(NULL);
    controlled_handler own;
    controlled_handler all;
    pawl_error err = PAWL_ERROR_INIT;

    controlled_handler_init(&own, s);
    controlled_handler_init(&all, s);
    assert_ok(pawl_receiver_handle(s->receiver, NULL, PAWL_RECEIVE_CALL_OUT, controlled_handle,
                                   &all, NULL, &err),
              &err);
    assert_ok(pawl_receiver_handle(s->receiver, "order", PAWL_RECEIVE_CALL_OUT, controlled_handle,
                                   &own, NULL, &err),
              &err);
    assert_status(PAWL_E_INVALID,
                  pawl_receiver_handle(s->receiver, "order", PAWL_RECEIVE_CALL_OUT,
                                       controlled_handle, &own, NULL, &err),
                  &err);
    receiver_start(s);
    assert_status(PAWL_E_MISUSE,
                  pawl_receiver_handle(s->receiver, "late", PAWL_RECEIVE_CALL_OUT,
                                       controlled_handle, &own, NULL, &err),
                  &err);
    deliver(s, &(sample){.topic = "order"});
    deliver(s, &(sample){.topic = "offer"});
    assert_int_equal(1, own.calls);
    assert_int_equal(1, all.calls);
}

/* ---- the sender ---- */

static void assert_denied(receiver_fixture *s, const char *text)
{
    reply *r = post(s, text);

    assert_int_equal(401, r->status);
    assert_non_null(reply_header(r, "WWW-Authenticate"));
    assert_non_null(strstr(r->body, "\"acknowledged\":false"));
    assert_int_equal(0, inbox_count(s));
}

/* The text with `what` replaced, once. */
static const char *with(const char *text, const char *what, const char *instead)
{
    const char *at = strstr(text, what);

    assert_non_null(at);
    return test_note("%.*s%s%s", (int)(at - text), text, instead, at + strlen(what));
}

PAWL_TEST(a_wrong_signature_is_denied_and_leaves_no_trace)
{
    controlled_handler p;
    receiver_fixture *s = open_with(&p, PAWL_RECEIVE_ATOMIC, NULL);
    const char *good = sample_text(s, &(sample){.id = ID});
    const char *hmac = strstr(good, "\"rf-hmac\":\"");

    assert_non_null(hmac);
    assert_denied(s, sample_text(s, &(sample){.is_unsigned = true}));
    assert_denied(s, sample_text(s, &(sample){.secret = "env:PAWL_TEST_OTHER_SECRET"}));
    assert_denied(s, sample_text(s, &(sample){.source = "stranger"}));
    assert_denied(s, sample_text(s, &(sample){.source = "nosecret"}));
    assert_denied(s, sample_text(s, &(sample){.scheme = 1}));
    assert_denied(s, sample_text(s, &(sample){.age_ms = 6 * MINUTE_MS}));
    assert_denied(s, sample_text(s, &(sample){.age_ms = -6 * MINUTE_MS}));
    assert_denied(s, with(good, "{\"n\":1}", "{\"n\":2}"));
    assert_denied(s, with(good, ID, "0190c5f0-0000-7000-8000-000000000002"));
    assert_denied(s, with(good, "\"order\"", "\"other\""));
    assert_denied(s, test_note("%.*sAA%s", (int)(hmac - good) + 11, good, hmac + 13));
    assert_denied(s, test_note("%.*s%s", (int)(hmac - good) + 11, good, hmac + 15));
    assert_int_equal(0, p.calls);
    assert_int_equal(200, post(s, good)->status);
}

PAWL_TEST(scheme_1_is_accepted_from_services_that_allow_it)
{
    controlled_handler p;
    receiver_fixture *s = open_with(&p, PAWL_RECEIVE_ATOMIC, NULL);

    assert_int_equal(200, deliver(s, &(sample){.source = "oldshop", .scheme = 1})->status);
    assert_int_equal(200, deliver(s, &(sample){.source = "oldshop", .scheme = 2})->status);
}

PAWL_TEST(a_replayed_message_has_no_effect)
{
    controlled_handler p;
    receiver_fixture *s = open_with(&p, PAWL_RECEIVE_ATOMIC, NULL);
    const char *recorded = sample_text(s, &(sample){.id = ID});

    assert_int_equal(200, post(s, recorded)->status);
    assert_non_null(strstr(post(s, recorded)->body, "\"duplicateDetected\":true"));
    assert_int_equal(1, inbox_orders(s->f));
}

PAWL_TEST(secrets_change_while_it_runs)
{
    controlled_handler p;
    receiver_fixture *s = open_with(&p, PAWL_RECEIVE_ATOMIC, NULL);
    pawl_services *changed = receiver_services("env:PAWL_TEST_OTHER_SECRET");

    pawl_receiver_set_services(s->receiver, changed);
    pawl_services_unref(changed);
    assert_int_equal(401, deliver(s, &(sample){0})->status);
    assert_int_equal(200, deliver(s, &(sample){.secret = "env:PAWL_TEST_OTHER_SECRET"})->status);
}

PAWL_TEST(a_body_that_is_no_envelope_is_refused)
{
    controlled_handler p;
    receiver_fixture *s = open_with(&p, PAWL_RECEIVE_ATOMIC, NULL);
    const char *good = sample_text(s, &(sample){0});

    assert_int_equal(400, post(s, "{}")->status);
    assert_int_equal(400, post(s, "")->status);
    assert_int_equal(400, post(s, "[1,2")->status);
    assert_int_equal(400, post(s, test_note("%.*s", (int)strlen(good) / 2, good))->status);
    assert_int_equal(0, inbox_count(s));
}

/* ---- into the outbox ---- */

PAWL_TEST(enqueue_stores_it_in_the_outbox_once)
{
    receiver_fixture *s = receiver_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_outbox_filter filter = PAWL_OUTBOX_FILTER_INIT;
    pawl_messages *list = NULL;
    const pawl_message *message;

    assert_ok(pawl_receiver_enqueue(s->receiver, "order", "picking", NULL, NULL, &err), &err);
    receiver_start(s);
    assert_int_equal(200, deliver(s, &(sample){.id = ID, .payload = "[ 7 ]"})->status);
    assert_int_equal(200, deliver(s, &(sample){.id = ID, .payload = "[ 7 ]"})->status);
    filter.topic = "picking";
    filter.with_payload = true;
    assert_ok(pawl_outbox_list(fixture_store(s->f), &filter, &list, NULL, &err), &err);
    queue_keep(list);
    assert_int_equal(1, pawl_messages_count(list));
    message = pawl_messages_at(list, 0);
    assert_string_equal("[ 7 ]", queue_payload(message));
    assert_string_equal(ID, pawl_message_correlation_id(message));
    assert_null(pawl_message_destination(message));
}

/* ---- how much at once, and the end ---- */

PAWL_TEST(too_many_waiting_requests_get_a_response)
{
    pawl_receiver_options options = PAWL_RECEIVER_OPTIONS_INIT;
    controlled_handler p;
    receiver_fixture *s;
    int first;
    reply *r;

    options.handlers = 1;
    options.waiting = 0;
    s = open_with(&p, PAWL_RECEIVE_CALL_OUT, &options);
    first = client_connect(s);
    p.waits = true;
    post_begin(first, sample_text(s, &(sample){0}));
    controlled_await(&p.there);
    r = deliver(s, &(sample){0});
    assert_int_equal(429, r->status);
    assert_string_equal("1", reply_header(r, "Retry-After"));
    assert_int_equal(200, get(s, "/health")->status);
    controlled_go(&p);
    assert_int_equal(200, client_read(first)->status);
}

PAWL_TEST(a_topic_has_no_more_concurrent_calls_than_its_limit)
{
    pawl_receive_options own = PAWL_RECEIVE_OPTIONS_INIT;
    receiver_fixture *s = receiver_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    controlled_handler slow;
    controlled_handler other;
    int first;
    int second;

    own.concurrency = 1;
    controlled_handler_init(&slow, s);
    controlled_handler_init(&other, s);
    slow.waits = true;
    assert_ok(pawl_receiver_handle(s->receiver, "slow", PAWL_RECEIVE_CALL_OUT, controlled_handle,
                                   &slow, &own, &err),
              &err);
    assert_ok(pawl_receiver_handle(s->receiver, NULL, PAWL_RECEIVE_CALL_OUT, controlled_handle,
                                   &other, NULL, &err),
              &err);
    receiver_start(s);
    first = client_connect(s);
    second = client_connect(s);
    post_begin(first, sample_text(s, &(sample){.topic = "slow"}));
    controlled_await(&slow.there);
    post_begin(second, sample_text(s, &(sample){.topic = "slow"}));
    assert_int_equal(200, deliver(s, &(sample){.topic = "quick"})->status);
    assert_int_equal(1, slow.calls);
    controlled_go(&slow);
    assert_int_equal(200, client_read(first)->status);
    controlled_await(&slow.there);
    controlled_go(&slow);
    assert_int_equal(200, client_read(second)->status);
    assert_int_equal(2, slow.calls);
}

PAWL_TEST(a_call_that_takes_too_long_is_cancelled)
{
    pawl_receive_options own = PAWL_RECEIVE_OPTIONS_INIT;
    receiver_fixture *s = receiver_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    controlled_handler p;

    own.timeout_ms = 20;
    controlled_handler_init(&p, s);
    p.waits = true;
    p.result = PAWL_RETRY;
    assert_ok(pawl_receiver_handle(s->receiver, NULL, PAWL_RECEIVE_CALL_OUT, controlled_handle, &p,
                                   &own, &err),
              &err);
    receiver_start(s);
    assert_int_equal(500, deliver(s, &(sample){0})->status);
    assert_int_equal(1, p.cancelled);
}

static void *stop_it(void *context)
{
    pawl_receiver_stop(context);
    return NULL;
}

PAWL_TEST(stopping_responds_to_requests_that_have_begun_and_rejects_waiting_ones)
{
    pawl_receiver_options options = PAWL_RECEIVER_OPTIONS_INIT;
    pawl_receiver_stats stats = PAWL_RECEIVER_STATS_INIT;
    pthread_t stopper;
    controlled_handler p;
    receiver_fixture *s;
    int first;
    int second;
    reply *r;

    options.handlers = 1;
    s = open_with(&p, PAWL_RECEIVE_CALL_OUT, &options);
    p.waits = true;
    first = client_connect(s);
    second = client_connect(s);
    post_begin(first, sample_text(s, &(sample){.id = ID}));
    controlled_await(&p.there);
    post_begin(second, sample_text(s, &(sample){0}));
    while (stats.waiting < 1)
        pawl_receiver_get_stats(s->receiver, &stats);
    assert_int_equal(0, pthread_create(&stopper, NULL, stop_it, s->receiver));
    r = client_read(second);
    controlled_go(&p);
    pthread_join(stopper, NULL);
    assert_int_equal(503, r->status);
    assert_string_equal("close", reply_header(r, "Connection"));
    client_expect_end(second);
    r = client_read(first);
    assert_int_equal(200, r->status);
    client_expect_end(first);
    assert_int_equal(1, inbox_count(s));
    assert_int_equal(PAWL_INBOX_DONE, inbox_record(s->f, ID)->state);
}

PAWL_TEST(stopping_cancels_handlers_that_do_not_end)
{
    pawl_receiver_options options = PAWL_RECEIVER_OPTIONS_INIT;
    controlled_handler p;
    receiver_fixture *s;
    int first;

    options.grace_ms = 0;
    s = open_with(&p, PAWL_RECEIVE_CALL_OUT, &options);
    p.waits = true;
    p.result = PAWL_RETRY;
    first = client_connect(s);
    post_begin(first, sample_text(s, &(sample){.id = ID}));
    controlled_await(&p.there);
    pawl_receiver_stop(s->receiver);
    assert_int_equal(1, p.cancelled);
    assert_int_equal(500, client_read(first)->status);
    assert_int_equal(PAWL_INBOX_SEEN, inbox_record(s->f, ID)->state);
}

PAWL_TEST(many_clients_at_once_and_every_effect_once)
{
    enum { CLIENTS = 8, EACH = 6 };
    controlled_handler p;
    receiver_fixture *s = open_with(&p, PAWL_RECEIVE_ATOMIC, NULL);
    const char *texts[EACH];
    int fds[CLIENTS];
    bool done[EACH] = {false};

    for (int i = 0; i < EACH; i++)
        texts[i] = sample_text(s, &(sample){0});
    for (int c = 0; c < CLIENTS; c++) {
        fds[c] = client_connect(s);
        for (int i = 0; i < EACH; i++)
            post_begin(fds[c], texts[i]); /* one after the other, without waiting for responses */
    }
    for (int c = 0; c < CLIENTS; c++)
        for (int i = 0; i < EACH; i++) {
            int status = client_read(fds[c])->status;
            assert_true(status == 200 || status == 409);
            done[i] |= status == 200;
        }
    /* Of several concurrent ones possibly none continues: 409 asks for a retry. */
    for (int i = 0; i < EACH; i++)
        while (!done[i]) {
            fixture_advance(s->f, MINUTE_MS); /* beyond the lease */
            post_begin(fds[0], texts[i]);
            int status = client_read(fds[0])->status;
            assert_true(status == 200 || status == 409);
            done[i] = status == 200;
        }
    assert_int_equal(EACH, inbox_orders(s->f));
    assert_int_equal(EACH, p.calls);
}

PAWL_TEST(statistics_count_each_result)
{
    controlled_handler p;
    receiver_fixture *s = open_with(&p, PAWL_RECEIVE_ATOMIC, NULL);
    pawl_receiver_stats stats = PAWL_RECEIVER_STATS_INIT;

    deliver(s, &(sample){.id = ID});
    deliver(s, &(sample){.id = ID});
    deliver(s, &(sample){.is_unsigned = true});
    post(s, "{}");
    p.result = PAWL_RETRY;
    deliver(s, &(sample){0});
    pawl_receiver_get_stats(s->receiver, &stats);
    assert_int_equal(5, stats.received);
    assert_int_equal(1, stats.processed);
    assert_int_equal(1, stats.duplicates);
    assert_int_equal(1, stats.unsigned_);
    assert_int_equal(1, stats.refused);
    assert_int_equal(1, stats.failed);
}

PAWL_TEST(health_reports_readiness)
{
    receiver_fixture *s = receiver_open(NULL);
    reply *r;

    receiver_start(s);
    r = get(s, "/health");
    assert_int_equal(200, r->status);
    assert_string_equal(
        "{\"status\":\"ok\",\"ready\":true,\"database\":\"ok\",\"running\":0,"
        "\"waiting\":0,\"refused\":{\"connections\":0,\"connections_per_ip\":0,"
        "\"buffered_bytes\":0,\"headers\":0,\"body\":0,\"waiting\":0,\"timeout\":0}}",
        r->body);
    assert_string_equal(r->body, get(s, "/_rf/health")->body);
}

/* tests/transport/send_test.c - promises of every transport for one send. */
#include <string.h>

#include "sender_fixture.h"
#include "test.h"
#include "transport_client.h"

PAWL_TEST(an_acknowledged_send_returns_the_response)
{
    sender_fixture *sender = sender_open(peer_start(), NULL);
    const pawl_send_report *outcome = sender_ask(sender, NULL, "ok");

    assert_int_equal(PAWL_SEND_ACKNOWLEDGED, outcome->sent);
    assert_string_equal(SENDER_PAYLOAD, outcome->payload);
    assert_int_equal(strlen(SENDER_PAYLOAD), outcome->payload_size);
    assert_true(outcome->reached);
    assert_null(outcome->error);
    assert_int_equal(0, pawli_transport_client_in_flight(sender->carrier));
}

PAWL_TEST(a_duplicate_is_reported_as_one)
{
    const pawl_send_report *outcome =
        sender_ask(sender_open(peer_start(), NULL), NULL, "duplicate");

    assert_int_equal(PAWL_SEND_DUPLICATE, outcome->sent);
    assert_string_equal(SENDER_PAYLOAD, outcome->payload);
}

PAWL_TEST(a_refusal_is_permanent_and_has_a_reason)
{
    const pawl_send_report *outcome = sender_ask(sender_open(peer_start(), NULL), NULL, "refuse");

    assert_int_equal(PAWL_SEND_REJECTED, outcome->sent);
    assert_non_null(strstr(outcome->error, "never"));
    assert_null(outcome->payload);
    assert_true(outcome->reached);
}

PAWL_TEST(a_busy_receiver_sends_retry_after)
{
    const pawl_send_report *outcome = sender_ask(sender_open(peer_start(), NULL), NULL, "busy");

    assert_int_equal(PAWL_SEND_RETRY, outcome->sent);
    assert_int_equal(7000, outcome->retry_after_ms);
    assert_true(outcome->reached);
}

PAWL_TEST(a_failing_receiver_is_retried)
{
    const pawl_send_report *outcome = sender_ask(sender_open(peer_start(), NULL), NULL, "error");

    assert_int_equal(PAWL_SEND_RETRY, outcome->sent);
    assert_int_equal(-1, outcome->retry_after_ms);
    assert_non_null(strstr(outcome->error, "later"));
}

PAWL_TEST(a_receiver_that_does_not_respond_times_out)
{
    test_peer *peer = peer_start();
    pawl_service_options service = sender_service(peer);

    service.timeout_ms = 50;
    const pawl_send_report *outcome = sender_ask(sender_open(peer, &service), NULL, "block");
    assert_int_equal(PAWL_SEND_RETRY, outcome->sent);
    assert_false(outcome->reached);
    assert_non_null(outcome->error);
}

PAWL_TEST(one_send_may_have_less_time_than_the_service)
{
    sender_fixture *sender = sender_open(peer_start(), NULL);

    sender->timeout_ms = 50;
    assert_int_equal(PAWL_SEND_RETRY, sender_ask(sender, NULL, "block")->sent);
    sender->timeout_ms = INT64_C(1000000000); /* never more than the service's */
    size_t patient = sender_send(sender, NULL, "block", NULL);
    sender_wait_blocked(sender, 1);
    peer_release(sender->peer);
    assert_int_equal(PAWL_SEND_ACKNOWLEDGED, sender_wait(sender, patient)->sent);
}

static void ignore_outcome(void *context, const pawl_send_report *outcome)
{
    (void)context;
    (void)outcome;
}

PAWL_TEST(bad_requests_are_refused_at_once)
{
    sender_fixture *sender = sender_open(peer_start(), NULL);
    static const char *const urls[] = {"",        "peer",       "gopher://host/",
                                       "http://", "pipe://a/b", "unix://x"};
    pawl_send_request request = PAWL_SEND_REQUEST_INIT;
    pawl_error err = PAWL_ERROR_INIT;

    assert_status(
        PAWL_E_INVALID,
        pawli_transport_client_send(sender->carrier, &request, ignore_outcome, NULL, NULL, &err),
        &err);
    sender_ask(sender, NULL, "ok");
    request.service = sender->service;
    request.envelope = sender->envelopes[0];
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        request.url = urls[i];
        assert_status(PAWL_E_INVALID,
                      pawli_transport_client_send(sender->carrier, &request, ignore_outcome, NULL,
                                                  NULL, &err),
                      &err);
    }
    request.url = "inproc://missing"; /* a matter of configuration */
    assert_status(
        PAWL_E_NOT_FOUND,
        pawli_transport_client_send(sender->carrier, &request, ignore_outcome, NULL, NULL, &err),
        &err);
    request.url = peer_url(sender->peer);
    assert_status(PAWL_E_INVALID,
                  pawli_transport_client_send(sender->carrier, &request, NULL, NULL, NULL, &err),
                  &err);
    assert_int_equal(0, pawli_transport_client_in_flight(sender->carrier));
}

PAWL_TEST(no_transport_is_added_while_a_client_is_open)
{
    sender_fixture *sender = sender_open(peer_start(), NULL);
    pawl_transport other = {0};
    pawl_error err = PAWL_ERROR_INIT;

    assert_status(PAWL_E_MISUSE,
                  pawl_transports_add_inproc(sender->transports, "late", 1, NULL, NULL, &err),
                  &err);
    assert_status(PAWL_E_INVALID, pawl_transports_register(sender->transports, &other, NULL, &err),
                  &err);
}

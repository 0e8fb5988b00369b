/* tests/fault/net_test.c - memory runs out while envelopes, signatures and the service map are
 * made.
 */
#include <stdlib.h>
#include <string.h>

#include <pawl/net.h>
#include <pawl/sys/strategy.h>

#include "failing.h"
#include "test.h"
#include "ack.h"
#include "signature.h"
#include "transport_client.h"
#include "envelope.h"

static const char secret[] = "correct horse battery staple";

/* One step of the life of a message between services; PAWL_OK, or what went wrong. */
typedef pawl_status (*step)(void *context, pawl_error *err);

/* Let the 1st, 2nd, 3rd ... allocation of `body` fail until it passes untouched. */
static void fail_each(step body, void *context)
{
    bool failed = true;
    long nth = 1;

    for (; failed; nth++) {
        pawl_error err = PAWL_ERROR_INIT;
        failing_arm(FAILING_MEMORY, nth, 0);
        pawl_status st = body(context, &err);
        failed = failing_disarm();
        assert_status(failed ? PAWL_E_NOMEM : PAWL_OK, st, &err);
    }
    assert_true(nth > 2);
}

static pawli_secrets *secrets;
static pawl_messages *messages;

static void free_all(void *nothing)
{
    (void)nothing;
    pawli_secrets_free(secrets);
    pawl_messages_free(messages);
}

static void prepare_sqlite(void)
{
    pawl_message_spec content = PAWL_MESSAGE_SPEC_INIT, checked = PAWL_MESSAGE_SPEC_INIT;
    pawl_message_image image = PAWL_MESSAGE_IMAGE_INIT;
    pawl_error err = PAWL_ERROR_INIT;

    secrets = NULL;
    messages = NULL;
    test_defer(free_all, NULL);
    content.topic = "orders";
    content.payload = "\xff";
    content.payload_size = 1;
    content.correlation_id = "c";
    content.headers = "{\"traceparent\":\"00\",\"tracestate\":\"a=b\"}";
    assert_ok(pawl_message_spec_check(&content, &checked, &err), &err);
    image.content = &checked;
    assert_ok(pawl_messages_new(&messages, &err), &err);
    assert_ok(pawl_messages_append(messages, &image, &err), &err);
    assert_ok(pawli_secrets_new(&secrets, &err), &err);
    assert_ok(pawli_secrets_add(secrets, secret, sizeof secret - 1, &err), &err);
}

static pawl_status travel(void *context, pawl_error *err)
{
    pawli_envelope_options opts = PAWLI_ENVELOPE_OPTIONS_INIT;
    pawl_envelope *sent = NULL, *received = NULL;
    size_t size;
    pawl_status st;

    (void)context;
    opts.source = "tester";
    opts.secrets = secrets;
    st = pawli_envelope_encode(pawl_messages_at(messages, 0), &opts, &sent, err);
    if (st == PAWL_OK) {
        const char *text = pawl_envelope_text(sent, &size);
        st = pawl_envelope_decode(text, size, 0, &received, err);
    }
    if (st == PAWL_OK)
        st = pawli_signature_check(received, secrets, NULL, err);
    pawl_envelope_free(sent);
    pawl_envelope_free(received);
    return st;
}

PAWL_TEST(an_envelope_survives_every_failing_allocation)
{
    prepare_sqlite();
    fail_each(travel, NULL);
}

static pawl_status answer_later(void *context, pawl_error *err)
{
    pawli_ack_content content = PAWLI_ACK_CONTENT_INIT;
    pawli_ack *given = NULL, *taken = NULL;
    size_t size;
    pawl_status st;

    (void)context;
    content.payload = "x";
    content.payload_size = 1;
    content.error = "e";
    st = pawli_ack_encode(&content, &given, err);
    if (st == PAWL_OK) {
        const char *text = pawli_ack_text(given, &size);
        st = pawli_ack_decode(text, size, &taken, err);
    }
    pawli_ack_free(given);
    pawli_ack_free(taken);
    return st;
}

PAWL_TEST(an_acknowledgement_survives_every_failing_allocation)
{
    fail_each(answer_later, NULL);
}

static pawl_status map(void *context, pawl_error *err)
{
    static const char *const places[] = {"env:PAWL_TEST_SECRET", "env:PAWL_TEST_SECRET"};
    pawl_service_options all[2] = {PAWL_SERVICE_OPTIONS_INIT, PAWL_SERVICE_OPTIONS_INIT};
    pawl_services *services = NULL;

    (void)context;
    all[0].name = "a";
    all[0].url = "https://a.example";
    all[0].secrets = places;
    all[0].secret_count = 2;
    all[1].name = "b";
    all[1].ca_file = "/ca.pem";
    pawl_status st = pawl_services_new(all, 2, NULL, &services, err);
    pawl_services_unref(services);
    return st;
}

PAWL_TEST(the_service_map_survives_every_failing_allocation)
{
    setenv("PAWL_TEST_SECRET", secret, 1);
    fail_each(map, NULL);
}

static void ignore_outcome(void *context, const pawl_send_report *outcome)
{
    (void)outcome;
    ++*(int *)context;
}

typedef struct sending {
    const pawl_service *service;
    pawl_envelope *envelope;
    const char *url;
} sending;

static pawl_status post(void *context, pawl_error *err)
{
    const sending *what = context;
    pawl_send_request request = PAWL_SEND_REQUEST_INIT;
    pawl_transports *transports = NULL;
    pawli_transport_client *carrier = NULL;
    int begun = 0, ended = 0;
    pawl_status st = pawl_transports_new(NULL, &transports, err);

    if (st == PAWL_OK)
        st = pawli_transport_client_open(transports, &carrier, err);
    request.url = what->url;
    request.service = what->service;
    request.envelope = what->envelope;
    if (st == PAWL_OK) {
        st = pawli_transport_client_send(carrier, &request, ignore_outcome, &ended, NULL, err);
        begun = st == PAWL_OK;
    }
    pawli_transport_client_close(carrier);
    pawl_transports_free(transports);
    assert_int_equal(begun, ended);
    return st;
}

PAWL_TEST(beginning_to_send_survives_every_failing_allocation)
{
    pawl_service_options opts = PAWL_SERVICE_OPTIONS_INIT;
    pawli_envelope_options how = PAWLI_ENVELOPE_OPTIONS_INIT;
    pawl_services *services = NULL;
    sending what = {NULL, NULL, "unix:///nonexistent/socket"};
    pawl_error err = PAWL_ERROR_INIT;

    prepare_sqlite();
    opts.name = "a";
    opts.url = what.url;
    how.source = "tester";
    assert_ok(pawl_services_new(&opts, 1, NULL, &services, &err), &err);
    assert_ok(pawli_envelope_encode(pawl_messages_at(messages, 0), &how, &what.envelope, &err),
              &err);
    what.service = pawl_services_at(services, 0);
    fail_each(post, &what);
    pawl_envelope_free(what.envelope);
    pawl_services_unref(services);
}

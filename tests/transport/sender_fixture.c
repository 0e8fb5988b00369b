/* tests/transport/sender_fixture.c - sending to a peer, and waiting for what becomes of it. */
#include "sender_fixture.h"

#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pawl/sys/strategy.h>

#include "test.h"
#include "transport_client.h"
#include "envelope.h"

pawl_service_options sender_service(const test_peer *peer)
{
    pawl_service_options opts = PAWL_SERVICE_OPTIONS_INIT;

    opts.name = "peer";
    opts.url = peer_url(peer);
    opts.allow_private = true;
    opts.ca_file = peer_ca_file(peer);
    return opts;
}

void sender_close(sender_fixture *sender)
{
    pawli_transport_client_close(sender->carrier);
    sender->carrier = NULL;
}

static void free_sender(void *context)
{
    sender_fixture *sender = context;

    peer_release(sender->peer);
    sender_close(sender);
    pawl_transports_free(sender->transports);
    pawl_services_unref(sender->services);
    for (size_t i = 0; i < sender->sent; i++)
        pawl_envelope_free(sender->envelopes[i]);
    free(sender);
}

sender_fixture *sender_open(test_peer *peer, const pawl_service_options *service)
{
    pawl_transports_options opts = PAWL_TRANSPORTS_OPTIONS_INIT;
    pawl_service_options usual = sender_service(peer);
    sender_fixture *sender = calloc(1, sizeof *sender);
    pawl_error err = PAWL_ERROR_INIT;

    if (!sender)
        abort();
    sender->peer = peer;
    test_defer(free_sender, sender);
    opts.pipe_directory = peer_pipe_directory(peer);
    assert_ok(pawl_services_new(service ? service : &usual, 1, NULL, &sender->services, &err),
              &err);
    sender->service = pawl_services_at(sender->services, 0);
    assert_ok(pawl_transports_new(&opts, &sender->transports, &err), &err);
    peer_register(peer, sender->transports);
    assert_ok(pawli_transport_client_open(sender->transports, &sender->carrier, &err), &err);
    return sender;
}

static pawl_envelope *envelope_to(const char *endpoint)
{
    pawli_envelope_options opts = PAWLI_ENVELOPE_OPTIONS_INIT;
    pawl_message_image image = PAWL_MESSAGE_IMAGE_INIT;
    pawl_message_spec content = PAWL_MESSAGE_SPEC_INIT, checked = PAWL_MESSAGE_SPEC_INIT;
    pawl_messages *list = NULL;
    pawl_envelope *envelope = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    content.topic = endpoint;
    content.payload = SENDER_PAYLOAD;
    content.payload_size = strlen(SENDER_PAYLOAD);
    content.headers =
        "{\"traceparent\":\"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\"}";
    assert_ok(pawl_message_spec_check(&content, &checked, &err), &err);
    image.content = &checked;
    assert_ok(pawl_messages_new(&list, &err), &err);
    assert_ok(pawl_messages_append(list, &image, &err), &err);
    opts.source = "tester";
    assert_ok(pawli_envelope_encode(pawl_messages_at(list, 0), &opts, &envelope, &err), &err);
    pawl_messages_free(list);
    return envelope;
}

static void ended(void *context, const pawl_send_report *outcome)
{
    sender_end *end = context;

    end->count++;
    end->outcome = *outcome;
    if (outcome->payload)
        end->outcome.payload =
            test_note("%.*s", (int)outcome->payload_size, (const char *)outcome->payload);
    if (outcome->error)
        end->outcome.error = test_note("%s", outcome->error);
}

size_t sender_send(sender_fixture *sender, const char *url, const char *endpoint,
                   pawli_transport_send **ret_send)
{
    pawl_send_request request = PAWL_SEND_REQUEST_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    size_t number = sender->sent;

    assert_true(number < SENDER_SENDS_MAX);
    sender->envelopes[number] = envelope_to(endpoint);
    sender->sent++;
    request.url = url ? url : peer_url(sender->peer);
    request.service = sender->service;
    request.envelope = sender->envelopes[number];
    request.timeout_ms = sender->timeout_ms;
    assert_ok(pawli_transport_client_send(sender->carrier, &request, ended, &sender->ends[number],
                                          ret_send, &err),
              &err);
    assert_int_equal(0, sender->ends[number].count);
    return number;
}

void sender_run_step(sender_fixture *sender, int extra_fd)
{
    struct pollfd fds[2] = {{pawli_transport_client_fd(sender->carrier), POLLIN, 0},
                            {extra_fd, POLLIN, 0}};
    int64_t timeout_ms = pawli_transport_client_timeout_ms(sender->carrier);
    pawl_error err = PAWL_ERROR_INIT;
    uint64_t ignored;

    poll(fds, 2, (int)timeout_ms);
    if (fds[1].revents && read(extra_fd, &ignored, sizeof ignored) < 0)
        abort();
    assert_ok(pawli_transport_client_process(sender->carrier, &err), &err);
}

const pawl_send_report *sender_wait(sender_fixture *sender, size_t number)
{
    while (sender->ends[number].count == 0)
        sender_run_step(sender, -1);
    assert_int_equal(1, sender->ends[number].count);
    return &sender->ends[number].outcome;
}

void sender_wait_blocked(sender_fixture *sender, int count)
{
    while (peer_blocked(sender->peer) < count)
        sender_run_step(sender, peer_blocked_fd(sender->peer));
}

const pawl_send_report *sender_ask(sender_fixture *sender, const char *url, const char *endpoint)
{
    return sender_wait(sender, sender_send(sender, url, endpoint, NULL));
}

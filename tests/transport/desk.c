/* tests/transport/desk.c - sending to a peer, and waiting for what becomes of it. */
#include "desk.h"

#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pawl/sys/strategy.h>

#include "test.h"

pawl_service_options desk_service(const test_peer *peer)
{
    pawl_service_options opts = PAWL_SERVICE_OPTIONS_INIT;

    opts.name = "peer";
    opts.url = peer_url(peer);
    opts.allow_private = true;
    opts.ca_file = peer_ca_file(peer);
    return opts;
}

void desk_close(test_desk *desk)
{
    pawl_carrier_close(desk->carrier);
    desk->carrier = NULL;
}

static void done(void *context)
{
    test_desk *desk = context;

    peer_release(desk->peer);
    desk_close(desk);
    pawl_transports_free(desk->transports);
    pawl_services_unref(desk->services);
    for (size_t i = 0; i < desk->sent; i++)
        pawl_envelope_free(desk->envelopes[i]);
    free(desk);
}

test_desk *desk_open(test_peer *peer, const pawl_service_options *service)
{
    pawl_transports_options opts = PAWL_TRANSPORTS_OPTIONS_INIT;
    pawl_service_options usual = desk_service(peer);
    test_desk *desk = calloc(1, sizeof *desk);
    pawl_error err = PAWL_ERROR_INIT;

    if (!desk)
        abort();
    desk->peer = peer;
    test_defer(done, desk);
    opts.pipe_directory = peer_pipe_directory(peer);
    assert_ok(pawl_services_new(service ? service : &usual, 1, NULL, &desk->services, &err), &err);
    desk->service = pawl_services_at(desk->services, 0);
    assert_ok(pawl_transports_new(&opts, &desk->transports, &err), &err);
    peer_register(peer, desk->transports);
    assert_ok(pawl_carrier_open(desk->transports, &desk->carrier, &err), &err);
    return desk;
}

static pawl_envelope *envelope_to(const char *endpoint)
{
    pawl_envelope_options opts = PAWL_ENVELOPE_OPTIONS_INIT;
    pawl_message_image image = PAWL_MESSAGE_IMAGE_INIT;
    pawl_outgoing content = PAWL_OUTGOING_INIT, checked = PAWL_OUTGOING_INIT;
    pawl_messages *list = NULL;
    pawl_envelope *envelope = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    content.topic = endpoint;
    content.payload = DESK_PAYLOAD;
    content.payload_size = strlen(DESK_PAYLOAD);
    content.headers =
        "{\"traceparent\":\"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\"}";
    assert_ok(pawl_outgoing_check(&content, &checked, &err), &err);
    image.content = &checked;
    assert_ok(pawl_messages_new(&list, &err), &err);
    assert_ok(pawl_messages_append(list, &image, &err), &err);
    opts.source = "tester";
    assert_ok(pawl_envelope_encode(pawl_messages_at(list, 0), &opts, &envelope, &err), &err);
    pawl_messages_free(list);
    return envelope;
}

static void ended(void *context, const pawl_send_outcome *outcome)
{
    desk_end *end = context;

    end->count++;
    end->outcome = *outcome;
    if (outcome->payload)
        end->outcome.payload =
            test_note("%.*s", (int)outcome->payload_size, (const char *)outcome->payload);
    if (outcome->error)
        end->outcome.error = test_note("%s", outcome->error);
}

size_t desk_send(test_desk *desk, const char *url, const char *endpoint, pawl_send **ret_send)
{
    pawl_send_request request = PAWL_SEND_REQUEST_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    size_t number = desk->sent;

    assert_true(number < DESK_SENDS_MAX);
    desk->envelopes[number] = envelope_to(endpoint);
    desk->sent++;
    request.url = url ? url : peer_url(desk->peer);
    request.service = desk->service;
    request.envelope = desk->envelopes[number];
    request.timeout_ms = desk->timeout_ms;
    assert_ok(
        pawl_carrier_send(desk->carrier, &request, ended, &desk->ends[number], ret_send, &err),
        &err);
    assert_int_equal(0, desk->ends[number].count);
    return number;
}

void desk_turn(test_desk *desk, int extra_fd)
{
    struct pollfd fds[2] = {{pawl_carrier_fd(desk->carrier), POLLIN, 0}, {extra_fd, POLLIN, 0}};
    int64_t timeout_ms = pawl_carrier_timeout_ms(desk->carrier);
    pawl_error err = PAWL_ERROR_INIT;
    uint64_t ignored;

    poll(fds, 2, (int)timeout_ms);
    if (fds[1].revents && read(extra_fd, &ignored, sizeof ignored) < 0)
        abort();
    assert_ok(pawl_carrier_turn(desk->carrier, &err), &err);
}

const pawl_send_outcome *desk_wait(test_desk *desk, size_t number)
{
    while (desk->ends[number].count == 0)
        desk_turn(desk, -1);
    assert_int_equal(1, desk->ends[number].count);
    return &desk->ends[number].outcome;
}

void desk_wait_held(test_desk *desk, int count)
{
    while (peer_held(desk->peer) < count)
        desk_turn(desk, peer_held_fd(desk->peer));
}

const pawl_send_outcome *desk_ask(test_desk *desk, const char *url, const char *endpoint)
{
    return desk_wait(desk, desk_send(desk, url, endpoint, NULL));
}

/* tests/transport/in_flight_threads_test.c - many sends at once, cancelling, and ending in between.
 */
#include <poll.h>
#include <string.h>

#include "sender_fixture.h"
#include "test.h"
#include "transport_client.h"

#define MANY 200
#define EACH 25 /* of several threads */

PAWL_TEST(two_hundred_are_in_flight_at_once)
{
    test_peer *peer = peer_start();
    sender_fixture *sender = sender_open(peer, NULL);
    int many = peer_ca_file(peer) ? MANY / 4 : MANY; /* handshakes take their time */
    int receipt = peer_max_blocked(peer) < many ? peer_max_blocked(peer) : many;

    for (int i = 0; i < many; i++)
        sender_send(sender, NULL, "block", NULL);
    assert_int_equal(many, pawli_transport_client_in_flight(sender->carrier));
    sender_wait_blocked(sender, receipt);
    for (int i = 0; i < many; i++)
        assert_int_equal(0, sender->ends[i].count);
    peer_release(peer);
    for (int i = 0; i < many; i++)
        assert_int_equal(PAWL_SEND_ACKNOWLEDGED, sender_wait(sender, (size_t)i)->sent);
    assert_int_equal(0, pawli_transport_client_in_flight(sender->carrier));
    assert_int_equal(many, peer_requests(peer));
}

PAWL_TEST(a_cancelled_send_completes_in_the_next_step)
{
    test_peer *peer = peer_start();
    sender_fixture *sender = sender_open(peer, NULL);
    pawli_transport_send *first = NULL, *second = NULL;
    size_t receipt = sender_send(sender, NULL, "block", &first);

    sender_wait_blocked(sender, 1);
    size_t fresh = sender_send(sender, NULL, "block", &second);
    size_t other = sender_send(sender, NULL, "block", NULL);
    pawli_transport_client_cancel(sender->carrier, first);
    pawli_transport_client_cancel(sender->carrier, second);
    pawli_transport_client_cancel(sender->carrier, second);
    assert_int_equal(0, sender->ends[receipt].count);
    sender_run_step(sender, -1);
    assert_int_equal(1, sender->ends[receipt].count);
    assert_int_equal(1, sender->ends[fresh].count);
    assert_int_equal(PAWL_SEND_CANCELLED, sender->ends[receipt].outcome.sent);
    assert_int_equal(PAWL_SEND_CANCELLED, sender->ends[fresh].outcome.sent);
    assert_non_null(sender->ends[receipt].outcome.error);
    assert_int_equal(0, sender->ends[other].count);
    peer_release(peer);
    assert_int_equal(PAWL_SEND_ACKNOWLEDGED, sender_wait(sender, other)->sent);
}

PAWL_TEST(closing_ends_sends_in_flight)
{
    test_peer *peer = peer_start();
    sender_fixture *sender = sender_open(peer, NULL);

    for (int i = 0; i < 20; i++)
        sender_send(sender, NULL, "block", NULL);
    sender_wait_blocked(sender, 1);
    sender_close(sender);
    for (size_t i = 0; i < 20; i++) {
        assert_int_equal(1, sender->ends[i].count);
        assert_int_equal(PAWL_SEND_CANCELLED, sender->ends[i].outcome.sent);
    }
}

/* Each end begins the next send, and cancels one that waits. */
typedef struct send_chain {
    sender_fixture *sender;
    pawli_transport_send *to_cancel;
    int left;
    int ended;
} send_chain;

static void go_on(void *context, const pawl_send_report *outcome)
{
    send_chain *chain = context;
    pawl_send_request request = PAWL_SEND_REQUEST_INIT;

    chain->ended += outcome->sent == PAWL_SEND_ACKNOWLEDGED;
    if (chain->to_cancel)
        pawli_transport_client_cancel(chain->sender->carrier, chain->to_cancel);
    chain->to_cancel = NULL;
    if (chain->left-- == 0)
        return;
    request.url = peer_url(chain->sender->peer);
    request.service = chain->sender->service;
    request.envelope = chain->sender->envelopes[0];
    if (pawli_transport_client_send(chain->sender->carrier, &request, go_on, chain, NULL, NULL) !=
        PAWL_OK)
        chain->left = -1;
}

PAWL_TEST(the_end_of_one_may_begin_another)
{
    sender_fixture *sender = sender_open(peer_start(), NULL);
    send_chain chain = {sender, NULL, 10, 0};
    pawl_send_report begin = PAWL_SEND_REPORT_INIT;

    sender_ask(sender, NULL, "ok");
    size_t to_cancel = sender_send(sender, NULL, "block", &chain.to_cancel);
    begin.sent = PAWL_SEND_RETRY;
    go_on(&chain, &begin);
    while (chain.ended < 10)
        sender_run_step(sender, -1);
    assert_int_equal(PAWL_SEND_CANCELLED, sender_wait(sender, to_cancel)->sent);
    assert_int_equal(0, pawli_transport_client_in_flight(sender->carrier));
}

static void count_outcome(void *context, const pawl_send_report *outcome)
{
    *(int *)context += outcome->sent == PAWL_SEND_ACKNOWLEDGED;
}

static const char *send_some(void *context, size_t index)
{
    sender_fixture *sender = context;
    pawli_transport_client *carrier = NULL;
    int acknowledged = 0;
    pawl_send_request request = PAWL_SEND_REQUEST_INIT;

    (void)index;
    if (pawli_transport_client_open(sender->transports, &carrier, NULL) != PAWL_OK)
        return "a carrier cannot be opened";
    request.url = peer_url(sender->peer);
    request.service = sender->service;
    request.envelope = sender->envelopes[0];
    for (int i = 0; i < EACH; i++)
        if (pawli_transport_client_send(carrier, &request, count_outcome, &acknowledged, NULL,
                                        NULL) != PAWL_OK)
            return "a send was refused";
    while (pawli_transport_client_in_flight(carrier) > 0) {
        struct pollfd fd = {pawli_transport_client_fd(carrier), POLLIN, 0};
        poll(&fd, 1, (int)pawli_transport_client_timeout_ms(carrier));
        if (pawli_transport_client_process(carrier, NULL) != PAWL_OK)
            return "a call of perform() failed";
    }
    pawli_transport_client_close(carrier);
    return acknowledged == EACH ? NULL : "not all were acknowledged";
}

/* The transport of own.c has one instance at a time. */
PAWL_TEST_ON(built_in, clients_of_several_threads_share_the_transports)
{
    test_peer *peer = peer_start();
    sender_fixture *sender = sender_open(peer, NULL);

    sender_ask(sender, NULL, "ok");
    test_threads(4, send_some, sender);
}

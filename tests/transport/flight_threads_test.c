/* tests/transport/flight_threads_test.c - many sends at once, cancelling, and ending in between. */
#include <poll.h>
#include <string.h>

#include "desk.h"
#include "test.h"

#define MANY 200
#define EACH 25 /* of several threads */

PAWL_TEST(two_hundred_are_in_flight_at_once)
{
    test_peer *peer = peer_start();
    test_desk *desk = desk_open(peer, NULL);
    int many = peer_ca_file(peer) ? MANY / 4 : MANY; /* handshakes take their time */
    int held = peer_holds_at_most(peer) < many ? peer_holds_at_most(peer) : many;

    for (int i = 0; i < many; i++)
        desk_send(desk, NULL, "hold", NULL);
    assert_int_equal(many, pawl_carrier_in_flight(desk->carrier));
    desk_wait_held(desk, held);
    for (int i = 0; i < many; i++)
        assert_int_equal(0, desk->ends[i].count);
    peer_release(peer);
    for (int i = 0; i < many; i++)
        assert_int_equal(PAWL_SENT_ACKNOWLEDGED, desk_wait(desk, (size_t)i)->sent);
    assert_int_equal(0, pawl_carrier_in_flight(desk->carrier));
    assert_int_equal(many, peer_requests(peer));
}

PAWL_TEST(a_cancelled_send_ends_with_the_next_turn)
{
    test_peer *peer = peer_start();
    test_desk *desk = desk_open(peer, NULL);
    pawl_send *first = NULL, *second = NULL;
    size_t held = desk_send(desk, NULL, "hold", &first);

    desk_wait_held(desk, 1);
    size_t fresh = desk_send(desk, NULL, "hold", &second);
    size_t other = desk_send(desk, NULL, "hold", NULL);
    pawl_carrier_cancel(desk->carrier, first);
    pawl_carrier_cancel(desk->carrier, second);
    pawl_carrier_cancel(desk->carrier, second);
    assert_int_equal(0, desk->ends[held].count);
    desk_turn(desk, -1);
    assert_int_equal(1, desk->ends[held].count);
    assert_int_equal(1, desk->ends[fresh].count);
    assert_int_equal(PAWL_SENT_CANCELLED, desk->ends[held].outcome.sent);
    assert_int_equal(PAWL_SENT_CANCELLED, desk->ends[fresh].outcome.sent);
    assert_non_null(desk->ends[held].outcome.error);
    assert_int_equal(0, desk->ends[other].count);
    peer_release(peer);
    assert_int_equal(PAWL_SENT_ACKNOWLEDGED, desk_wait(desk, other)->sent);
}

PAWL_TEST(closing_ends_what_is_in_flight)
{
    test_peer *peer = peer_start();
    test_desk *desk = desk_open(peer, NULL);

    for (int i = 0; i < 20; i++)
        desk_send(desk, NULL, "hold", NULL);
    desk_wait_held(desk, 1);
    desk_close(desk);
    for (size_t i = 0; i < 20; i++) {
        assert_int_equal(1, desk->ends[i].count);
        assert_int_equal(PAWL_SENT_CANCELLED, desk->ends[i].outcome.sent);
    }
}

/* Each end begins the next send, and cancels one that waits. */
typedef struct send_chain {
    test_desk *desk;
    pawl_send *victim;
    int left;
    int ended;
} send_chain;

static void go_on(void *context, const pawl_send_outcome *outcome)
{
    send_chain *chain = context;
    pawl_send_request request = PAWL_SEND_REQUEST_INIT;

    chain->ended += outcome->sent == PAWL_SENT_ACKNOWLEDGED;
    if (chain->victim)
        pawl_carrier_cancel(chain->desk->carrier, chain->victim);
    chain->victim = NULL;
    if (chain->left-- == 0)
        return;
    request.url = peer_url(chain->desk->peer);
    request.service = chain->desk->service;
    request.envelope = chain->desk->envelopes[0];
    if (pawl_carrier_send(chain->desk->carrier, &request, go_on, chain, NULL, NULL) != PAWL_OK)
        chain->left = -1;
}

PAWL_TEST(the_end_of_one_may_begin_another)
{
    test_desk *desk = desk_open(peer_start(), NULL);
    send_chain chain = {desk, NULL, 10, 0};
    pawl_send_outcome begin = PAWL_SEND_OUTCOME_INIT;

    desk_ask(desk, NULL, "ok");
    size_t victim = desk_send(desk, NULL, "hold", &chain.victim);
    begin.sent = PAWL_SENT_RETRY;
    go_on(&chain, &begin);
    while (chain.ended < 10)
        desk_turn(desk, -1);
    assert_int_equal(PAWL_SENT_CANCELLED, desk_wait(desk, victim)->sent);
    assert_int_equal(0, pawl_carrier_in_flight(desk->carrier));
}

static void count(void *context, const pawl_send_outcome *outcome)
{
    *(int *)context += outcome->sent == PAWL_SENT_ACKNOWLEDGED;
}

static const char *send_some(void *context, size_t index)
{
    test_desk *desk = context;
    pawl_carrier *carrier = NULL;
    int acknowledged = 0;
    pawl_send_request request = PAWL_SEND_REQUEST_INIT;

    (void)index;
    if (pawl_carrier_open(desk->transports, &carrier, NULL) != PAWL_OK)
        return "a carrier cannot be opened";
    request.url = peer_url(desk->peer);
    request.service = desk->service;
    request.envelope = desk->envelopes[0];
    for (int i = 0; i < EACH; i++)
        if (pawl_carrier_send(carrier, &request, count, &acknowledged, NULL, NULL) != PAWL_OK)
            return "a send was refused";
    while (pawl_carrier_in_flight(carrier) > 0) {
        struct pollfd fd = {pawl_carrier_fd(carrier), POLLIN, 0};
        poll(&fd, 1, (int)pawl_carrier_timeout_ms(carrier));
        if (pawl_carrier_turn(carrier, NULL) != PAWL_OK)
            return "a turn failed";
    }
    pawl_carrier_close(carrier);
    return acknowledged == EACH ? NULL : "not all were acknowledged";
}

/* The transport of own.c has one instance at a time. */
PAWL_TEST_ON(built_in, carriers_of_several_threads_share_the_transports)
{
    test_peer *peer = peer_start();
    test_desk *desk = desk_open(peer, NULL);

    desk_ask(desk, NULL, "ok");
    test_threads(4, send_some, desk);
}

/* tests/delivery/delivery_fixture.h - a delivery on a fixture, with destinations of every kind.
 *
 * "peer" and "other" are the peer of tests/transport/peer.h, whose answer the topic says; "narrow"
 * is the same with a concurrency of two; "dead" has no listener; "moody" is a receiver in this
 * process that returns what delivery_fixture.mood says.
 */
#ifndef PAWL_TEST_DELIVERY_FIXTURE_H
#define PAWL_TEST_DELIVERY_FIXTURE_H

#include <pthread.h>
#include <stdatomic.h>

#include <pawl/net.h>

#include "queue_fixture.h"
#include "log_capture.h"
#include "peer.h"

/* Flapping: good, bad and busy alternately. Status: what delivery_fixture.answer_status says, over
 * HTTP. Down: no response. */
typedef enum delivery_mood {
    MOOD_GOOD,
    MOOD_BAD,
    MOOD_BUSY,
    MOOD_FLAPPING,
    MOOD_STATUS,
    MOOD_DOWN
} delivery_mood;

typedef struct delivery_fixture {
    fixture *f;
    test_peer *peer;
    pawl_transports *transports;
    pawl_services *services;
    pawl_delivery *delivery;
    pawl_delivery_options options;
    log_capture log;
    _Atomic delivery_mood mood;
    atomic_int moody_calls;
    atomic_int answer_status;        /* with MOOD_STATUS */
    const char *_Atomic retry_after; /* the header's value; may be NULL */
    pthread_t thread;                /* while it runs */
    pawl_status status;
    pawl_error err;
} delivery_fixture;

/* Everything but the delivery, so that `options` can be changed. */
delivery_fixture *delivery_open(const fixture_options *opts);
/* The delivery itself. */
void delivery_start(delivery_fixture *d);
/* A map with this policy for the destinations; NULL: the usual. In use from now on. */
void delivery_map(delivery_fixture *d, const pawl_service_options *like);

pawl_work_id delivery_send(delivery_fixture *d, const char *destination, const char *topic,
                           const char *payload);
/* Steps until this many messages are in the state; fails after very many. */
void delivery_until(delivery_fixture *d, int64_t count, pawl_state state);
/* Steps until nothing is in flight and all results are stored. */
void delivery_run_until_idle(delivery_fixture *d);
/* Steps until the peer blocks this many. */
void delivery_until_blocked(delivery_fixture *d, int count);
/* This many steps, without waiting. */
void delivery_steps(delivery_fixture *d, int turns);
int64_t delivery_count(delivery_fixture *d, pawl_state state);
int64_t delivery_leased(delivery_fixture *d);
pawl_destination_stats delivery_stats(delivery_fixture *d, const char *destination);

/* On a thread of its own, until delivery_join(). */
void delivery_run(delivery_fixture *d);
pawl_status delivery_join(delivery_fixture *d);
/* Until this many messages are in the state, by polling the store; fails after a minute. */
void delivery_expect(delivery_fixture *d, int64_t count, pawl_state state);

#endif

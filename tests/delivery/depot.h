/* tests/delivery/depot.h - a delivery on a fixture, with destinations of every kind.
 *
 * "peer" and "other" are the peer of tests/transport/peer.h, whose answer the topic says; "narrow"
 * is the same with two places; "dead" is nobody; "moody" is a receiver in this process that answers
 * what depot.mood says.
 */
#ifndef PAWL_TEST_DEPOT_H
#define PAWL_TEST_DEPOT_H

#include <pthread.h>
#include <stdatomic.h>

#include <pawl/net.h>

#include "kit.h"
#include "log_capture.h"
#include "peer.h"

/* Flapping: good and bad, busy, by turns. Status: what depot.answer_status says, over HTTP. Down:
 * no answer. */
typedef enum depot_mood {
    MOOD_GOOD,
    MOOD_BAD,
    MOOD_BUSY,
    MOOD_FLAPPING,
    MOOD_STATUS,
    MOOD_DOWN
} depot_mood;

typedef struct depot {
    fixture *f;
    test_peer *peer;
    pawl_transports *transports;
    pawl_services *services;
    pawl_delivery *delivery;
    pawl_delivery_options options;
    log_capture log;
    _Atomic depot_mood mood;
    atomic_int moody_calls;
    atomic_int answer_status;        /* with MOOD_STATUS */
    const char *_Atomic retry_after; /* the header's value; may be NULL */
    pthread_t thread;                /* while it runs */
    pawl_status status;
    pawl_error err;
} depot;

/* Everything but the delivery, so that `options` can be changed. */
depot *depot_open(const fixture_options *opts);
/* The delivery itself. */
void depot_start(depot *d);
/* A map with this policy for the destinations; NULL: the usual. In use from now on. */
void depot_map(depot *d, const pawl_service_options *like);

pawl_work_id depot_send(depot *d, const char *destination, const char *topic, const char *payload);
/* Turns until this many messages are in the state; fails after very many. */
void depot_until(depot *d, int64_t count, pawl_state state);
/* Turns until nothing is in flight, nor to be answered for. */
void depot_settle(depot *d);
/* Turns until the peer holds so many. */
void depot_until_held(depot *d, int count);
/* So many turns, without waiting. */
void depot_turns(depot *d, int turns);
int64_t depot_count(depot *d, pawl_state state);
int64_t depot_leased(depot *d);
pawl_destination_stats depot_stats(depot *d, const char *destination);

/* On a thread of its own, until depot_join(). */
void depot_run(depot *d);
pawl_status depot_join(depot *d);
/* Until this many messages are in the state, looking at the store; fails after a minute. */
void depot_expect(depot *d, int64_t count, pawl_state state);

#endif

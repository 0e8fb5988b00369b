/* bench/exchange.h - pawl's delivery and receiver in this process, each on a database of its own.
 */
#ifndef BENCH_EXCHANGE_H
#define BENCH_EXCHANGE_H

#include <pthread.h>

#include <pawl/net.h>

#include "database.h"

#define EXCHANGE_DESTINATIONS 10

/* What becomes of the last two of ten destinations. */
typedef enum exchange_trouble {
    TROUBLE_NONE,
    TROUBLE_REFUSED, /* one is slow, one refuses connections */
    TROUBLE_SILENT,  /* one is slow, one takes connections and never answers */
} exchange_trouble;

typedef struct exchange_options {
    database *sender, *receiver; /* were reset */
    int destinations;            /* 1 .. EXCHANGE_DESTINATIONS */
    int in_flight;               /* of each destination */
    int handlers;                /* of the receiver */
    bool over_unix;
    exchange_trouble trouble;
} exchange_options;

typedef struct exchange {
    exchange_options options;
    pawl_store *sender, *receiver_store;
    pawl_receiver *receiver, *slow;
    pawl_delivery *delivery;
    pawl_services *services;
    pthread_t thread;
    bool runs;
    int dead_socket;
    char url[128], slow_url[64], dead_url[64];
    char socket_directory[40];
} exchange;

/* Everything is there and the receiver accepts; nothing is delivered yet. */
void exchange_open(exchange *self, const exchange_options *opts);
/* Store `count` messages for each destination, in batches. */
void exchange_send(exchange *self, int64_t count);
void exchange_deliver(exchange *self);
/* Until each of the first `destinations` has acknowledged `total` since exchange_open(). Ends the
 * program if a message to them failed or was sent twice, or if nothing moves any more. */
void exchange_await(exchange *self, int destinations, int64_t total);
/* And until so many acknowledgements are committed in the sender's database. */
void exchange_await_stored(exchange *self, int64_t total);
/* Sends under way are cancelled. */
void exchange_close(exchange *self);

#endif

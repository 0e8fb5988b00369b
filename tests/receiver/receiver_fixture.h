/*
 * tests/receiver/receiver_fixture.h - a receiver on a fresh database, the shop that sends to it,
 * and clients that speak HTTP byte by byte.
 */
#ifndef PAWL_TEST_RECEIVER_FIXTURE_H
#define PAWL_TEST_RECEIVER_FIXTURE_H

#include <semaphore.h>

#include <pawl/net.h>

#include "fixture.h"
#include "test.h"

typedef struct receiver_fixture {
    fixture *f;
    pawl_services *services;
    pawl_receiver *receiver;
    int port;
} receiver_fixture;

/*
 * A database with the application's table {orders} (n integer), and a receiver that knows "shop"
 * (scheme 2) and "oldshop" (scheme 1, too). Not listening yet. `opts` may be NULL. All of it ends
 * with the test.
 */
receiver_fixture *receiver_open(const pawl_receiver_options *opts);
/* Started, with a handler that accepts everything: what it shows is the same on every engine. */
receiver_fixture *receiver_open_accepting(const pawl_receiver_options *opts);
receiver_fixture *receiver_open_store(const pawl_store_options *store,
                                      const pawl_receiver_options *opts);
/* Listen on a free port of 127.0.0.1, and start. */
void receiver_start(receiver_fixture *s);
/* The same map with the shop's secret in another variable of the environment. */
pawl_services *receiver_services(const char *shop_secret);

/* ---- sent messages ---- */

typedef struct sample {
    const char *id;      /* a UUID; NULL: a new one */
    const char *topic;   /* NULL: "order" */
    const char *payload; /* NULL: "{\"n\":1}" */
    const char *source;  /* NULL: "shop" */
    const char *secret;  /* NULL: the source's: "env:..." */
    bool is_unsigned;
    int scheme;     /* 0: 2 */
    int64_t age_ms; /* how long ago it was signed */
} sample;

/* Its envelope as JSON, until the test ends. */
const char *sample_text(receiver_fixture *s, const sample *what);

/* ---- clients ---- */

typedef struct reply {
    int status;       /* 0: the connection was closed without a response */
    char head[4096];  /* status line and headers */
    char body[65536]; /* zero-terminated */
} reply;

/* A connection; closed with the test. No wait is unlimited: a minute without a byte fails. */
int client_connect(const receiver_fixture *s);
int client_connect_from(const receiver_fixture *s, const char *own_address);
int client_connect_unix(const char *path);
void client_send(int fd, const char *bytes, size_t size);
void client_say(int fd, const char *text);
/* The next response on the connection. */
reply *client_read(int fd);
/* Everything up to the end of the connection; until the test ends. */
const char *client_read_all(int fd);
/* The connection must be closed by the other side, with nothing more on it. */
void client_expect_end(int fd);
void client_close(int fd);

/* POST /_rf/receive with this body, on a connection of its own. */
reply *post(receiver_fixture *s, const char *body);
void post_begin(int fd, const char *body);
reply *deliver(receiver_fixture *s, const sample *what);
reply *get(receiver_fixture *s, const char *path);
/* The value of a header in a response, or NULL; until the test ends. */
const char *reply_header(const reply *r, const char *name);

/* ---- records and rows ---- */

/* Records in the inbox. */
size_t inbox_count(receiver_fixture *s);

/* ---- a handler that the test leads ---- */

typedef struct controlled_handler {
    receiver_fixture *s;
    pawl_result result;
    const char *response; /* NULL: none */
    const char *error;    /* NULL: none */
    bool writes;          /* a row into {orders}, through the transaction */
    bool waits;           /* for `go`, after `there`; or until it is cancelled */
    sem_t there;
    int go; /* an eventfd: controlled_go() */
    _Atomic int calls;
    _Atomic int last_attempt;
    _Atomic int cancelled;
} controlled_handler;
void controlled_handler_init(controlled_handler *p, receiver_fixture *s);
/* Lets one call go on that waits. */
void controlled_go(controlled_handler *p);
pawl_result controlled_handle(pawl_receive_task *reception, void *context);
/* Until a semaphore is posted, or the test fails. */
void controlled_await(sem_t *semaphore);

#endif

/*
 * tests/cut/proxy.h - stands between the library and a PostgreSQL server, and cuts.
 *
 * It speaks no PostgreSQL, but knows where a message of the protocol begins and ends, counts them
 * in each direction over all sessions, and at one of them drops the connection or falls silent. A
 * thread of the test program does the work. docs/internals/cut-tests.md has the whole picture.
 */
#ifndef PAWL_CUT_PROXY_H
#define PAWL_CUT_PROXY_H

#include <stdbool.h>

typedef struct proxy proxy;

typedef enum proxy_way { PROXY_TO_SERVER, PROXY_TO_CLIENT } proxy_way;

typedef enum proxy_deed {
    PROXY_NOTHING,
    PROXY_CUT_BEFORE, /* the message does not arrive any more */
    PROXY_CUT_AFTER,  /* it is the last one that arrives */
    PROXY_STALL,      /* blocks that session in both directions until the test continues it */
    PROXY_HANG        /* the same for all sessions, and new ones are not answered, either */
} proxy_deed;

/* Message `at` (from 1) of one direction. */
typedef struct proxy_plan {
    proxy_deed deed;
    proxy_way way;
    long at;
    bool then_refuse; /* refuse connections afterwards */
} proxy_plan;

/* Events since the plan was made. */
typedef struct proxy_report {
    bool happened;
    char type;   /* of the message at which it did; 0: a session's very first */
    bool asked;  /* the client had asked something on that session and its result was not whole */
    int backend; /* the server's process behind that session; 0: not known yet */
} proxy_report;

/* Ends with the test. `server` is a conninfo string with a unix socket's directory as host. */
proxy *proxy_new(const char *server);
/* The conninfo string of the same database behind the proxy. Borrowed. */
const char *proxy_target(const proxy *p);

/* Count from 1 again. Sessions that are open stay open. */
void proxy_plan_next(proxy *p, const proxy_plan *plan);
proxy_report proxy_reported(proxy *p);
long proxy_count(proxy *p, proxy_way way);
/* Wait until the plan has been carried out. False: it was not in `timeout_ms`. */
bool proxy_await(proxy *p, int timeout_ms);
/* Stalled sessions continue. */
void proxy_go_on(proxy *p);
/* Whether connections are refused, as by a server that is not there. */
void proxy_refuse(proxy *p, bool refuse);

#endif

/*
 * src/server/refusals.h - requests and connections rejected by a limit: counted per limit, reported
 * by GET /health, and logged at most once a minute.
 */
#ifndef PAWLI_REFUSALS_H
#define PAWLI_REFUSALS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/clock.h>
#include <pawl/log.h>

typedef enum pawli_refusal {
    PAWLI_REFUSED_CONNECTIONS,        /* 503: more connections than `connections` */
    PAWLI_REFUSED_CONNECTIONS_PER_IP, /* 429: the same for one address */
    PAWLI_REFUSED_HELD_BYTES,         /* 429: the bodies of all requests together */
    PAWLI_REFUSED_BODY,               /* 413: one body is too large */
    PAWLI_REFUSED_WAITING,            /* 429: too many messages wait for a handler */
    PAWLI_REFUSED_TIMEOUT,            /* 408: a request that took too long to arrive */
    PAWLI_REFUSAL_COUNT
} pawli_refusal;

typedef struct pawli_refusals {
    pthread_mutex_t lock;
    struct {
        int64_t count;    /* total */
        int64_t unlogged; /* of those */
        pawl_mono log_at; /* not logged before this time */
    } kinds[PAWLI_REFUSAL_COUNT];
} pawli_refusals;

void pawli_refusals_init(pawli_refusals *refusals);
void pawli_refusals_destroy(pawli_refusals *refusals);

/* Any thread, with any lock held: it only counts. */
void pawli_refusals_add(pawli_refusals *refusals, pawli_refusal kind);
int64_t pawli_refusals_count(pawli_refusals *refusals, pawli_refusal kind);
/* Logs what is due at `now`, one record per kind; no lock may be held. */
void pawli_refusals_log(pawli_refusals *refusals, const pawl_log_sink *log, pawl_mono now);

/* "connections", "connections_per_ip", "held_bytes", "body", "waiting", "timeout". */
const char *pawli_refusal_name(pawli_refusal kind);
/* The error text of the acknowledgement sent to the client, and the status. */
const char *pawli_refusal_text(pawli_refusal kind);
int pawli_refusal_status(pawli_refusal kind);

#define PAWLI_REFUSAL_ANSWER_SIZE 512
/* A complete HTTP response, for a connection that is closed; returns its size. */
size_t pawli_refusal_answer(pawli_refusal kind, char ret_answer[PAWLI_REFUSAL_ANSWER_SIZE]);

#endif

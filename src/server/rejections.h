/*
 * src/server/rejections.h - requests and connections rejected by a limit: counted per limit,
 * reported by GET /health, and logged at most once a minute.
 */
#ifndef PAWLI_REJECTIONS_H
#define PAWLI_REJECTIONS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/clock.h>
#include <pawl/log.h>

typedef enum pawli_rejection {
    PAWLI_REJECTED_CONNECTIONS,        /* 503: more connections than `connections` */
    PAWLI_REJECTED_CONNECTIONS_PER_IP, /* 429: the same for one address */
    PAWLI_REJECTED_MEMORY,             /* 429: the bodies of all requests together */
    PAWLI_REJECTED_HEADERS,            /* 431: the head of one request is too large */
    PAWLI_REJECTED_BODY,               /* 413: one body is too large */
    PAWLI_REJECTED_WAITING,            /* 429: too many messages wait for a handler */
    PAWLI_REJECTED_TIMEOUT,            /* 408: a request that took too long to arrive */
    PAWLI_REJECTION_COUNT
} pawli_rejection;

typedef struct pawli_rejections {
    pthread_mutex_t lock;
    struct {
        int64_t count;    /* total */
        int64_t unlogged; /* of those */
        pawl_mono log_at; /* not logged before this time */
    } kinds[PAWLI_REJECTION_COUNT];
} pawli_rejections;

void pawli_rejections_init(pawli_rejections *rejections);
void pawli_rejections_destroy(pawli_rejections *rejections);

/* Any thread, with any lock held: it only counts. */
void pawli_rejections_add(pawli_rejections *rejections, pawli_rejection kind);
int64_t pawli_rejections_count(pawli_rejections *rejections, pawli_rejection kind);
/* Logs what is due at `now`, one record per kind; no lock may be held. */
void pawli_rejections_log(pawli_rejections *rejections, const pawl_log_sink *log, pawl_mono now);

/* "connections", "connections_per_ip", "buffered_bytes", "headers", "body", "waiting",
 * "timeout". */
const char *pawli_rejection_name(pawli_rejection kind);
/* The error text of the acknowledgement sent to the client, and the status. */
const char *pawli_rejection_text(pawli_rejection kind);
int pawli_rejection_status(pawli_rejection kind);

#define PAWLI_REJECTION_RESPONSE_SIZE 512
/* A complete HTTP response, for a connection that is closed; returns its size. */
size_t pawli_rejection_response(pawli_rejection kind,
                                char ret_answer[PAWLI_REJECTION_RESPONSE_SIZE]);

#endif

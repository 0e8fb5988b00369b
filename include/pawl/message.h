/* include/pawl/message.h - the content of a message to send, and of a message read from the store.
 */
#ifndef PAWL_MESSAGE_H
#define PAWL_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/backoff.h>
#include <pawl/clock.h>
#include <pawl/export.h>
#include <pawl/id.h>

PAWL_BEGIN_DECLS

typedef enum pawl_type {
    PAWL_TYPE_SIGNAL = 0,
    PAWL_TYPE_COMMAND = 1,
    PAWL_TYPE_PUSH_CALL = 2,
    PAWL_TYPE_RESPONSE = 3
} pawl_type;

/*
 * ready -> running -> done | failed. A running message becomes ready again if its attempt failed or
 * its lease expired. A ready or failed one may expire, a ready or running one may be cancelled. An
 * operator makes failed, expired and cancelled messages ready again; done is final.
 *
 * Scheduled is not stored: a ready message is shown as scheduled until the store's clock passes the
 * time of its next attempt, also when it waits for a retry.
 */
typedef enum pawl_state {
    PAWL_STATE_READY = 0,
    PAWL_STATE_RUNNING = 1,
    PAWL_STATE_DONE = 2,
    PAWL_STATE_FAILED = 3,
    PAWL_STATE_EXPIRED = 4,
    PAWL_STATE_CANCELLED = 5,
    PAWL_STATE_SCHEDULED = 6 /* ready, but its next attempt is not due yet */
} pawl_state;
#define PAWL_STATE_COUNT 7

/* "signal", "command", "push_call", "response"; "scheduled", "ready", "running", ... Never NULL. */
PAWL_API const char *pawl_type_name(pawl_type type);
PAWL_API const char *pawl_state_name(pawl_state state);

#define PAWL_TOPIC_MAX 255        /* characters */
#define PAWL_CORRELATION_MAX 255  /* characters */
#define PAWL_DESTINATION_MAX 1024 /* bytes */
#define PAWL_ORDERING_KEY_MAX 255 /* characters */
#define PAWL_UNIQUE_KEY_MAX 255   /* characters */
#define PAWL_TAG_MAX 64           /* characters */
#define PAWL_TAGS_MAX 16          /* of one message */
#define PAWL_PRIORITY_MAX 9
#define PAWL_BATCH_MAX 10000
#define PAWL_BATCH_MAX_BYTES ((size_t)64 * 1024 * 1024)
#define PAWL_OUTPUT_MAX ((size_t)64 * 1024) /* bytes of a handler's output */

/* A message to send. Everything is copied during the call. */
typedef struct pawl_message_spec {
    size_t size;         /* set by PAWL_MESSAGE_SPEC_INIT, never by hand */
    const char *topic;   /* required: 1 .. 255 characters of UTF-8, case-sensitive */
    const void *payload; /* required: never NULL, not interpreted, never logged */
    size_t payload_size; /* bytes; 0 is allowed */
    pawl_uuid id;        /* all zero: a new UUIDv7 */
    pawl_type type;
    const char *destination;    /* NULL: for a local handler */
    const char *headers;        /* NULL or a JSON object */
    const char *correlation_id; /* NULL, or up to 255 characters; "" is stored as NULL */
    int priority;               /* 0 .. 9, higher first */
    pawl_wall due_at;           /* PAWL_TIME_UNSET: now; a past time also means now */
    int64_t delay_ms;           /* > 0: due this long from now by the database's clock */
    pawl_wall expires_at; /* PAWL_TIME_UNSET: never if local, 24 h after due with a destination. A
                             time in the past is stored, and the message is expired */
    int max_attempts; /* 0: 10 if local; with a destination no limit until it expires (6 if `count`
                         is PAWL_COUNT_ALL); at most 1000 */
    int64_t lease_ms; /* 0: the claimer decides; otherwise used by every claim of it */
    pawl_backoff backoff; /* all zero: the worker's policy */
    int64_t timeout_ms; /* of one attempt: the worker then cancels the handler; 0: the handler's own
                           timeout, if any. At most 7 days */
    int64_t heartbeat_ms; /* interval at which the worker renews the lease, shorter than lease_ms;
                             0: three times per lease. At most 7 days */
    pawl_count count;     /* with a destination: which sends count as attempts; the default is the
                             service's setting */
    /*
     * This release stores and shows the next three, and nothing else: a later one gives them
     * effect. They do not change the order of claims, and a unique key is not enforced.
     */
    const char *ordering_key; /* NULL, or 1 .. 255 characters */
    const char *unique_key;   /* NULL, or 1 .. 255 characters */
    const char *const *tags;  /* at most 16 of 1 .. 64 characters */
    size_t tag_count;
} pawl_message_spec;
#define PAWL_MESSAGE_SPEC_INIT                                                                     \
    {                                                                                              \
        sizeof(pawl_message_spec), NULL, NULL, 0, {{0}}, PAWL_TYPE_SIGNAL, NULL, NULL, NULL, 0,    \
            {0}, 0, {0}, 0, 0, {0, 0, 0}, 0, 0, PAWL_COUNT_DEFAULT, NULL, NULL, NULL, 0            \
    }

/* A message read from the store. Borrowed from the list that contains it. */
typedef struct pawl_message pawl_message;

PAWL_API pawl_work_id pawl_message_work_id(const pawl_message *message);
PAWL_API pawl_uuid pawl_message_id(const pawl_message *message);
PAWL_API const char *pawl_message_topic(const pawl_message *message);
/* Never NULL; followed by a zero byte that is not counted in *ret_size (may be NULL). */
PAWL_API const void *pawl_message_payload(const pawl_message *message, size_t *ret_size);
PAWL_API pawl_type pawl_message_type(const pawl_message *message);
PAWL_API const char *pawl_message_destination(const pawl_message *message);    /* may be NULL */
PAWL_API const char *pawl_message_headers(const pawl_message *message);        /* may be NULL */
PAWL_API const char *pawl_message_correlation_id(const pawl_message *message); /* may be NULL */
PAWL_API int pawl_message_priority(const pawl_message *message);
PAWL_API pawl_wall pawl_message_created_at(const pawl_message *message);
/* As requested by the sender, even if it was in the past. */
PAWL_API pawl_wall pawl_message_due_at(const pawl_message *message);
PAWL_API pawl_wall pawl_message_expires_at(const pawl_message *message); /* or PAWL_TIME_UNSET */
/* 0: no limit, retried until it expires; only with a destination. */
PAWL_API int pawl_message_max_attempts(const pawl_message *message);
/*
 * As sent. PAWL_COUNT_DEFAULT: the setting of the destination's service; always so without a
 * destination.
 */
PAWL_API pawl_count pawl_message_count(const pawl_message *message);
/* As sent; all zero: the policy of the worker or the service applies. */
PAWL_API pawl_backoff pawl_message_backoff(const pawl_message *message);
/* Failed attempts so far. */
PAWL_API int pawl_message_retries(const pawl_message *message);
/* Failed sends that were not counted as attempts (pawl_queue_defer); 0 after it has finished. */
PAWL_API int pawl_message_deferrals(const pawl_message *message);
/* 1 for the first attempt. */
PAWL_API int pawl_message_attempt(const pawl_message *message);
PAWL_API pawl_state pawl_message_state(const pawl_message *message);
/*
 * The fencing token. It increases with every claim in the store; 0 if the message is not claimed.
 */
PAWL_API int64_t pawl_message_fence(const pawl_message *message);
PAWL_API pawl_owner pawl_message_owner(const pawl_message *message);       /* zero: none */
PAWL_API const char *pawl_message_claimed_by(const pawl_message *message); /* may be NULL */
PAWL_API pawl_wall pawl_message_lease_until(const pawl_message *message);  /* or PAWL_TIME_UNSET */
PAWL_API pawl_wall
pawl_message_next_attempt_at(const pawl_message *message);                /* or PAWL_TIME_UNSET */
PAWL_API pawl_wall pawl_message_finished_at(const pawl_message *message); /* or PAWL_TIME_UNSET */
PAWL_API const char *pawl_message_processed_by(const pawl_message *message); /* may be NULL */
PAWL_API const char *pawl_message_last_error(const pawl_message *message);   /* may be NULL */
/* The last progress text of its handler (pawl_queue_progress); may be NULL. */
PAWL_API const char *pawl_message_progress(const pawl_message *message);
/* As sent; 0: not set. */
PAWL_API int64_t pawl_message_timeout_ms(const pawl_message *message);
PAWL_API int64_t pawl_message_heartbeat_ms(const pawl_message *message);
/* The run of a job that this message is (pawl/job_runs.h); 0: none. */
PAWL_API int64_t pawl_message_run_id(const pawl_message *message);
/*
 * The handler's output (pawl_task_output()), followed by a zero byte that is not counted in
 * *ret_size (may be NULL). NULL: none, or the message was read in a list without payloads.
 */
PAWL_API const void *pawl_message_output(const pawl_message *message, size_t *ret_size);
/*
 * For messages from pawl_dead_claim(): the number of this call of the dead-letter handler, 1 for
 * the first; otherwise 0.
 */
PAWL_API int pawl_message_dead_call(const pawl_message *message);

/* As sent; stored and shown by this release, without effect (pawl_message_spec). */
PAWL_API const char *pawl_message_ordering_key(const pawl_message *message); /* may be NULL */
PAWL_API const char *pawl_message_unique_key(const pawl_message *message);   /* may be NULL */
PAWL_API size_t pawl_message_tag_count(const pawl_message *message);
/* In the order of the sender; NULL when `index` is out of range. */
PAWL_API const char *pawl_message_tag(const pawl_message *message, size_t index);

/* An owned list of messages. */
typedef struct pawl_messages pawl_messages;

PAWL_API size_t pawl_messages_count(const pawl_messages *list);
/* Borrowed from the list; NULL when `index` is out of range. */
PAWL_API const pawl_message *pawl_messages_at(const pawl_messages *list, size_t index);
PAWL_API void pawl_messages_free(pawl_messages *list); /* NULL is allowed */

PAWL_END_DECLS

#endif

/* include/pawl/inbox.h - receiving: a message that is delivered several times has its effect once.
 *
 * A message is known by its source (who sent it) and the id that the sender gave it. Two ways:
 *
 * - atomic: pawl_inbox_begin() opens a transaction, the handler writes its rows through it,
 *   pawl_arrival_done() commits them together with the record. The effect happens once.
 * - call-out: pawl_inbox_call() commits that somebody is at it, under a lease; the application is
 *   called with no transaction open; pawl_arrival_done() records the response under the same fence.
 *   Never two calls at once while the lease holds; after a crash the call is made again, with the
 *   same idempotency key.
 *
 * Suspects. An attempt that did not end may have killed its process, or may only have run in it.
 * The first such attempt of a message does not count; from then on the message is a suspect: its
 * attempts count, and a process makes them one at a time (one transaction and one call-out). So a
 * message that kills its receiver every time is dead after max_attempts + 1 deaths, and takes no
 * other with it.
 */
#ifndef PAWL_INBOX_H
#define PAWL_INBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/clock.h>
#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/store.h>
#include <pawl/tx.h>

PAWL_BEGIN_DECLS

#define PAWL_INBOX_KEY_MAX 255 /* characters of a source, and of an id */
#define PAWL_HASH_SIZE 32

/* SHA-256 over the exact bytes of the payload. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_inbox_hash(const void *payload, size_t size,
                                                     uint8_t ret_hash[PAWL_HASH_SIZE],
                                                     pawl_error *err);

typedef struct pawl_inbox_options {
    size_t size;          /* set by PAWL_INBOX_OPTIONS_INIT, never by hand */
    const char *endpoint; /* what was called, kept for people to see; up to 255; NULL: nothing */
    int max_attempts;     /* then it is dead: 1 .. 1000 */
    int64_t lease_ms;     /* pawl_inbox_call(): until somebody else may take it over */
    int64_t keep_ms;      /* how long a processed message is remembered; 0: the store's default */
    /* A suspect waits this long for the one that is being processed, then it is
     * PAWL_INBOX_IN_PROGRESS; 0: the store's timeout. Or one of the two below. */
    int64_t suspect_wait_ms;
} pawl_inbox_options;
#define PAWL_INBOX_OPTIONS_INIT                                                                    \
    {                                                                                              \
        sizeof(pawl_inbox_options), NULL, 10, 30000, 0, 0                                          \
    }

#define PAWL_SUSPECT_NO_WAIT (-1)   /* only if no other suspect is being processed */
#define PAWL_SUSPECT_NOT_BEGUN (-2) /* never: the caller has a line for suspects of its own */

/* What a delivery is told. Only the first goes on; the others are to be answered to the sender. */
typedef enum pawl_inbox_answer {
    PAWL_INBOX_NEW = 0,         /* process it now: it is the caller's */
    PAWL_INBOX_DUPLICATE = 1,   /* it was processed: give the cached response again */
    PAWL_INBOX_IN_PROGRESS = 2, /* somebody is at it: the sender should try again later */
    PAWL_INBOX_CONFLICT = 3,    /* the same key with other content; nothing was written */
    PAWL_INBOX_REFUSED = 4      /* it is dead: it failed too often, or was given up */
} pawl_inbox_answer;

/* "new", "duplicate", "in_progress", "conflict", "dead". Never NULL. */
PAWL_API const char *pawl_inbox_answer_name(pawl_inbox_answer answer);

/* One delivery and what became of it. Opaque. */
typedef struct pawl_arrival pawl_arrival;

/**
 * Atomic: a message has come. If the answer is PAWL_INBOX_NEW a transaction is open
 * (pawl_arrival_tx): write the rows through it, send further messages with pawl_tx_enqueue(), then
 * pawl_arrival_done(). The attempt is counted before, in a transaction of its own.
 *
 * Ownership: *ret_arrival is the caller's (pawl_arrival_free), whatever the answer; untouched on
 *            failure. `hash` (PAWL_HASH_SIZE bytes, or NULL: contents are not compared), `opts`
 *            (NULL: defaults) and the texts are copied. `store` must outlive it.
 * Threads:   any; one arrival by the thread that began it. Until it has ended, a plain call on the
 *            same SQLite file from that thread answers PAWL_E_MISUSE at once.
 * Blocks:    two or three round trips; in SQLite also until its turn to write, which then lasts
 *            PAWL_TURN_MAX_MS at most (see pawl_message_begin). Never for another delivery of the
 *            same message: that one is PAWL_INBOX_IN_PROGRESS. A suspect: suspect_wait_ms for
 *            another one of this process.
 * Durable:   the attempt is counted. A process that dies leaves nothing else; the message can be
 *            taken again after 3 seconds at most.
 * Errors:    PAWL_E_INVALID, PAWL_E_MISUSE, PAWL_E_BUSY, PAWL_E_TIMEOUT, PAWL_E_INTERRUPTED,
 *            PAWL_E_UNAVAILABLE, PAWL_E_NOMEM; PAWL_E_IN_DOUBT: an attempt may have been counted,
 *            ask again.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_inbox_begin(pawl_store *store, const char *source,
                                                      const char *id, const uint8_t *hash,
                                                      const pawl_inbox_options *opts,
                                                      pawl_arrival **ret_arrival, pawl_error *err);

/*
 * Call-out: the same without a transaction. After PAWL_INBOX_NEW the message is held for lease_ms:
 * call the application with pawl_arrival_key() and pawl_arrival_attempt(), pawl_arrival_renew()
 * while it takes long, then pawl_arrival_done() or pawl_arrival_fail(). Any thread may use the
 * arrival, one at a time. A message whose lease has ended goes to the next delivery of it.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_inbox_call(pawl_store *store, const char *source,
                                                     const char *id, const uint8_t *hash,
                                                     const pawl_inbox_options *opts,
                                                     pawl_arrival **ret_arrival, pawl_error *err);

/*
 * Atomic in a transaction that the application opened and wrapped (tx.h): record and rows are there
 * when it commits, gone when it rolls back, the counted attempt included; pawl_arrival_fail() after
 * the rollback counts it again. `tx` must outlive the arrival's use. PAWL_E_TX_RESTART: roll back
 * and start again, in SQLite with BEGIN IMMEDIATE. PAWL_E_MISUSE for one that pawl began.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_tx_inbox_begin(pawl_tx *tx, const char *source,
                                                         const char *id, const uint8_t *hash,
                                                         const pawl_inbox_options *opts,
                                                         pawl_arrival **ret_arrival,
                                                         pawl_error *err);

PAWL_API pawl_inbox_answer pawl_arrival_answer(const pawl_arrival *arrival);
/* The open transaction of pawl_inbox_begin(), ended by _done, _fail or _free only; else NULL. */
PAWL_API pawl_tx *pawl_arrival_tx(const pawl_arrival *arrival);
/* 1 for the first. Of the other answers: how many were made. */
PAWL_API int pawl_arrival_attempt(const pawl_arrival *arrival);
/* Grows with every attempt: give it to whatever must refuse one that was overtaken. 0: not new. */
PAWL_API int64_t pawl_arrival_fence(const pawl_arrival *arrival);
/* "SOURCE:ID" (a ':' or '%' in the source as %3A, %25): the same for every attempt of a message. */
PAWL_API const char *pawl_arrival_key(const pawl_arrival *arrival);
/* PAWL_INBOX_DUPLICATE: what pawl_arrival_done() was given then; NULL if that was NULL. */
PAWL_API const void *pawl_arrival_response(const pawl_arrival *arrival, size_t *ret_size);
/* PAWL_INBOX_IN_PROGRESS: when it is worth trying again, 1 to 2000. */
PAWL_API int64_t pawl_arrival_retry_after_ms(const pawl_arrival *arrival);
/* PAWL_INBOX_IN_PROGRESS: it is a suspect, and was not begun; no one else processes it. */
PAWL_API bool pawl_arrival_suspect(const pawl_arrival *arrival);
/* Why the last attempt failed; NULL: none did, or it said nothing. */
PAWL_API const char *pawl_arrival_error(const pawl_arrival *arrival);

/**
 * It is processed. Atomic: commits the handler's rows and the record, both or neither; wrapped:
 * adds the record to the application's transaction, which that commits; call-out: commits the
 * record. The arrival has ended then, whatever the answer.
 *
 * Ownership: `response` (NULL: none) is copied; duplicates get it back, byte by byte.
 * Threads:   as said of the call that began it.
 * Blocks:    one or two round trips, bounded by the store's timeout.
 * Durable:   on PAWL_OK (wrapped: when the application has committed). On any other answer but
 *            PAWL_E_IN_DOUBT nothing of it is there. PAWL_E_IN_DOUBT: begin again with the same
 *            key; it answers PAWL_INBOX_DUPLICATE if this was committed.
 * Errors:    PAWL_E_LOST (somebody else has taken it over or finished it: nothing of this attempt
 *            may stay; a wrapped transaction has to be rolled back), PAWL_E_TOO_LARGE,
 *            PAWL_E_TIMEOUT (SQLite: open for too long), PAWL_E_TX_RESTART (a statement of it had
 *            failed), PAWL_E_MISUSE (it was not new, or has ended), PAWL_E_IN_DOUBT,
 *            PAWL_E_INTERRUPTED, PAWL_E_UNAVAILABLE, PAWL_E_SERIALIZATION.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_arrival_done(pawl_arrival *arrival, const void *response,
                                                       size_t size, pawl_error *err);

/*
 * It could not be processed, because of `error` (may be NULL; cut to 4 KB). Nothing of the
 * transaction remains; the attempt stays counted, and the next delivery may try again at once.
 * After the last attempt it is dead. Wrapped: after the application has rolled back. PAWL_E_LOST:
 * somebody else has taken it over. On any other failure it can be taken again when the lease has
 * ended.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_arrival_fail(pawl_arrival *arrival, const char *error,
                                                       pawl_error *err);
/* The same, and no delivery may ever try again: it is dead. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_arrival_give_up(pawl_arrival *arrival, const char *error,
                                                          pawl_error *err);

/*
 * Call-out: still at it, the lease now ends `lease_ms` from now. PAWL_E_LOST: it is somebody else's
 * by now; the result of the call will be refused.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_arrival_renew(pawl_arrival *arrival, int64_t lease_ms,
                                                        pawl_error *err);

/*
 * NULL is fine. An atomic one that has not ended is rolled back, as with pawl_arrival_fail(NULL); a
 * call-out that has not ended stays held until its lease ends.
 */
PAWL_API void pawl_arrival_free(pawl_arrival *arrival);

/*
 * Call-out, from the application that was called: finish it inside that application's own (wrapped)
 * transaction, together with its rows. This makes a call-out happen once. `fence` is the one that
 * came with the call. PAWL_E_LOST: roll back. (In PostgreSQL any language can do it:
 * pawl.inbox_done().) The caller's pawl_arrival_done() then answers PAWL_E_LOST, and the next
 * delivery is a duplicate with this response.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_tx_inbox_done(pawl_tx *tx, const char *source,
                                                        const char *id, int64_t fence,
                                                        const void *response, size_t size,
                                                        pawl_error *err);

/* ---- the small calls: each a transaction of its own, for those who bring their own order ---- */

/*
 * Write down that the message was seen; *ret_processed: it was processed before, ignore it.
 * PAWL_E_CONFLICT: the key is known with other content; nothing was written.
 */
PAWL_API PAWL_MUST_CHECK pawl_status
pawl_inbox_already_processed(pawl_store *store, const char *source, const char *id,
                             const uint8_t *hash, bool *ret_processed, pawl_error *err);
/*
 * An attempt begins, and is counted: of several callers one gets PAWL_OK, for 30 seconds, and gets
 * it again for each further attempt. A caller is a thread with this store. PAWL_E_HELD: another
 * caller processes it. PAWL_E_LOST: it was processed, or is dead (after 10 attempts).
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_inbox_mark_processing(pawl_store *store,
                                                                const char *source, const char *id,
                                                                pawl_error *err);
/*
 * The same for callers that are not threads: `holder` names one, 1 to 255 characters, NULL: this
 * thread. (In PostgreSQL any language can do it: pawl.inbox_begin(..., holder => ...).)
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_inbox_mark_processing_by(
    pawl_store *store, const char *source, const char *id, const char *holder, pawl_error *err);
/* It is processed. PAWL_E_NOT_FOUND: nobody has seen it. PAWL_E_LOST: it is dead. Twice is fine. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_inbox_mark_processed(pawl_store *store,
                                                               const char *source, const char *id,
                                                               pawl_error *err);
/* Never again. PAWL_E_NOT_FOUND: nobody has seen it. PAWL_E_LOST: it was processed. Twice is fine.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_inbox_mark_dead(pawl_store *store, const char *source,
                                                          const char *id, const char *error,
                                                          pawl_error *err);

PAWL_END_DECLS

#endif

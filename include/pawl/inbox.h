/* include/pawl/inbox.h - the inbox: a message that is delivered several times is processed once.
 *
 * A message is identified by its source (the sender) and the id that the sender gave it. There are
 * two modes:
 *
 * - atomic: pawl_inbox_begin() opens a transaction, the handler writes its rows through it, and
 *   pawl_inbox_task_done() commits them together with the inbox record. The effect happens exactly
 *   once.
 * - call-out: pawl_inbox_call() commits a lease on the message; the application is called with no
 *   transaction open; pawl_inbox_task_done() stores the response under the same fence. There are
 * never two calls at once while the lease lasts; after a crash the call is repeated with the same
 *   idempotency key.
 *
 * Suspects. An attempt that did not end may have crashed its process, or may only have been running
 * in a process that crashed. The first such attempt of a message is not counted; from then on the
 * message is a suspect: its attempts count, and a process runs the attempts of suspects one at a
 * time (one transaction and one call-out). A message that crashes its receiver every time is
 * therefore dead after max_attempts + 1 crashes, and does not take other messages down with it.
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

/* Computes the SHA-256 of the exact bytes of the payload. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_inbox_hash(const void *payload, size_t size,
                                                     uint8_t ret_hash[PAWL_HASH_SIZE],
                                                     pawl_error *err);

typedef struct pawl_inbox_options {
    size_t size;          /* set by PAWL_INBOX_OPTIONS_INIT, never by hand */
    const char *endpoint; /* the endpoint called, stored for information; up to 255 characters;
                             NULL: none */
    int max_attempts;     /* attempts before the message is dead: 1 .. 1000 */
    int64_t lease_ms;     /* pawl_inbox_call(): until another delivery may take it over */
    int64_t keep_ms;      /* how long a processed message is remembered; 0: the store's default */
    /* A suspect waits this long for the suspect that is being processed, then the result is
     * PAWL_INBOX_IN_PROGRESS; 0: the store's timeout. Or one of the two values below. */
    int64_t suspect_wait_ms;
} pawl_inbox_options;
#define PAWL_INBOX_OPTIONS_INIT                                                                    \
    {                                                                                              \
        sizeof(pawl_inbox_options), NULL, 10, 30000, 0, 0                                          \
    }

#define PAWL_SUSPECT_NO_WAIT (-1)   /* process it only if no other suspect is being processed */
#define PAWL_SUSPECT_NOT_BEGUN (-2) /* never: the caller has its own queue for suspects */

/*
 * The result of a delivery. Only PAWL_INBOX_NEW is to be processed; the others are reported to the
 * sender.
 */
typedef enum pawl_inbox_result {
    PAWL_INBOX_NEW = 0,         /* process it now: the caller owns it */
    PAWL_INBOX_DUPLICATE = 1,   /* already processed: return the cached response */
    PAWL_INBOX_IN_PROGRESS = 2, /* being processed: the sender should retry later */
    PAWL_INBOX_CONFLICT = 3,    /* the same key with different content; nothing was written */
    PAWL_INBOX_REJECTED = 4 /* the message is dead: it failed too often or was failed permanently */
} pawl_inbox_result;

/* "new", "duplicate", "in_progress", "conflict", "dead". Never NULL. */
PAWL_API const char *pawl_inbox_result_name(pawl_inbox_result result);

/* One delivery of a message and its result. Opaque. */
typedef struct pawl_inbox_task pawl_inbox_task;

/**
 * Atomic mode: receives a message. If the result is PAWL_INBOX_NEW a transaction is open
 * (pawl_inbox_task_tx): write rows through it, send further messages with pawl_tx_enqueue(), then
 * call pawl_inbox_task_done(). The attempt is counted before, in a transaction of its own.
 *
 * Ownership: *ret_task is the caller's (pawl_inbox_task_free), whatever the result; untouched on
 *            failure. `hash` (PAWL_HASH_SIZE bytes, or NULL: contents are not compared), `opts`
 *            (NULL: defaults) and the strings are copied. `store` must outlive it.
 * Threads:   any; an inbox task is used by the thread that began it. Until it has ended, a plain
 *            call on the same SQLite file from that thread returns PAWL_E_MISUSE at once.
 * Blocks:    two or three round trips; in SQLite also until it gets the write lock, which it then
 *            keeps for PAWL_SQLITE_TX_MAX_MS at most (see pawl_tx_begin_for). Never waits for
 *            another delivery of the same message: the result is then PAWL_INBOX_IN_PROGRESS. A
 *            suspect waits up to suspect_wait_ms for another suspect of this process.
 * Durable:   the attempt is counted. A process that dies leaves nothing else; the message can be
 *            received again after at most 3 seconds.
 * Errors:    PAWL_E_INVALID, PAWL_E_MISUSE, PAWL_E_BUSY, PAWL_E_TIMEOUT, PAWL_E_INTERRUPTED,
 *            PAWL_E_UNAVAILABLE, PAWL_E_NOMEM; PAWL_E_IN_DOUBT: an attempt may have been counted,
 *            call again.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_inbox_begin(pawl_store *store, const char *source,
                                                      const char *id, const uint8_t *hash,
                                                      const pawl_inbox_options *opts,
                                                      pawl_inbox_task **ret_task, pawl_error *err);

/*
 * Call-out mode: the same without a transaction. After PAWL_INBOX_NEW the caller owns the message
 * for lease_ms: call the application with pawl_inbox_task_key() and pawl_inbox_task_attempt(), call
 * pawl_inbox_task_renew() while that takes long, then pawl_inbox_task_done() or
 * pawl_inbox_task_fail(). Any thread may use the task, one at a time. When the lease has
 * expired, the next delivery of the message takes it over.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_inbox_call(pawl_store *store, const char *source,
                                                     const char *id, const uint8_t *hash,
                                                     const pawl_inbox_options *opts,
                                                     pawl_inbox_task **ret_task, pawl_error *err);

/*
 * Atomic mode in a transaction that the application began (foreign, tx.h): the record and the
 * rows exist if it commits and do not if it rolls back. A rollback also undoes the counting of the
 * attempt; pawl_inbox_task_fail() after the rollback counts it again. `tx` must outlive the use of
 * the task. PAWL_E_TX_RESTART: roll back and start again, in SQLite with BEGIN IMMEDIATE.
 * PAWL_E_MISUSE for a transaction that pawl began.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_tx_inbox_begin(pawl_tx *tx, const char *source,
                                                         const char *id, const uint8_t *hash,
                                                         const pawl_inbox_options *opts,
                                                         pawl_inbox_task **ret_task,
                                                         pawl_error *err);

PAWL_API pawl_inbox_result pawl_inbox_task_result(const pawl_inbox_task *task);
/*
 * The open transaction of pawl_inbox_begin(), which only _done, _fail or _free may end; otherwise
 * NULL.
 */
PAWL_API pawl_tx *pawl_inbox_task_tx(const pawl_inbox_task *task);
/* 1 for the first attempt. For results other than PAWL_INBOX_NEW: the number of attempts made. */
PAWL_API int pawl_inbox_task_attempt(const pawl_inbox_task *task);
/*
 * The fencing token. It increases with every attempt: pass it to systems that must reject an
 * attempt that has been superseded. 0 unless PAWL_INBOX_NEW.
 */
PAWL_API int64_t pawl_inbox_task_fence(const pawl_inbox_task *task);
/*
 * The idempotency key "SOURCE:ID" (a ':' or '%' in the source as %3A, %25): the same for every
 * attempt of a message.
 */
PAWL_API const char *pawl_inbox_task_key(const pawl_inbox_task *task);
/*
 * PAWL_INBOX_DUPLICATE: the response that was passed to pawl_inbox_task_done(); NULL if that was
 * NULL.
 */
PAWL_API const void *pawl_inbox_task_response(const pawl_inbox_task *task, size_t *ret_size);
/* PAWL_INBOX_IN_PROGRESS: the delay before the sender should retry, 1 to 2000. */
PAWL_API int64_t pawl_inbox_task_retry_after_ms(const pawl_inbox_task *task);
/*
 * PAWL_INBOX_IN_PROGRESS: the message is a suspect and was not begun; no other process handles it.
 */
PAWL_API bool pawl_inbox_task_suspect(const pawl_inbox_task *task);
/* The error of the last failed attempt; NULL: none failed, or no error text was given. */
PAWL_API const char *pawl_inbox_task_error(const pawl_inbox_task *task);

/**
 * Marks the message as processed. Atomic: commits the handler's rows and the record, both or
 * neither; foreign: adds the record to the application's transaction, which the application
 * commits; call-out: commits the record. The task has then ended, whatever the result.
 *
 * Ownership: `response` (NULL: none) is copied; duplicates get exactly the same bytes.
 * Threads:   as for the call that began it.
 * Blocks:    one or two round trips, bounded by the store's timeout.
 * Durable:   on PAWL_OK (foreign: when the application has committed). On any other status except
 *            PAWL_E_IN_DOUBT nothing was committed. PAWL_E_IN_DOUBT: begin again with the same key;
 *            the result is PAWL_INBOX_DUPLICATE if this call was committed.
 * Errors:    PAWL_E_LOST (another delivery has taken the message over or finished it: this attempt
 *            must have no effect; a foreign transaction must be rolled back), PAWL_E_TOO_LARGE,
 *            PAWL_E_TIMEOUT (SQLite: open for too long), PAWL_E_TX_RESTART (one of its statements
 *            had failed), PAWL_E_MISUSE (it was not new, or has ended), PAWL_E_IN_DOUBT,
 *            PAWL_E_INTERRUPTED, PAWL_E_UNAVAILABLE, PAWL_E_SERIALIZATION.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_inbox_task_done(pawl_inbox_task *task,
                                                          const void *response, size_t size,
                                                          pawl_error *err);

/*
 * The attempt failed with `error` (may be NULL; truncated to 4 KB). The transaction is rolled back;
 * the attempt stays counted, and the next delivery may try again at once. After the last attempt
 * the message is dead. Foreign: call it after the application has rolled back. PAWL_E_LOST: another
 * delivery has taken the message over. On any other failure the message can be received again when
 * the lease has expired.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_inbox_task_fail(pawl_inbox_task *task, const char *error,
                                                          pawl_error *err);
/* The same, but permanent: the message is dead and no delivery is processed again. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_inbox_task_fail_permanently(pawl_inbox_task *task,
                                                                      const char *error,
                                                                      pawl_error *err);

/*
 * Call-out: extends the lease to `lease_ms` from now. PAWL_E_LOST: another delivery now owns the
 * message; the result of this call will be rejected.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_inbox_task_renew(pawl_inbox_task *task, int64_t lease_ms,
                                                           pawl_error *err);

/*
 * NULL is allowed. An atomic task that has not ended is rolled back, as with
 * pawl_inbox_task_fail(NULL); a call-out that has not ended stays leased until its lease expires.
 */
PAWL_API void pawl_inbox_task_free(pawl_inbox_task *task);

/*
 * Call-out, used by the application that was called: finishes the message inside that application's
 * own (foreign) transaction, together with its rows. This makes a call-out take effect exactly
 * once. `fence` is the one that came with the call. PAWL_E_LOST: roll back. (In PostgreSQL any
 * language can do this: pawl.inbox_done().) The caller's pawl_inbox_task_done() then returns
 * PAWL_E_LOST, and the next delivery is a duplicate with this response.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_tx_inbox_done(pawl_tx *tx, const char *source,
                                                        const char *id, int64_t fence,
                                                        const void *response, size_t size,
                                                        pawl_error *err);

/* ---- primitives: each call is a transaction of its own, and the caller orders them ---- */

/*
 * Records that the message was seen; *ret_processed: it was already processed, ignore it.
 * PAWL_E_CONFLICT: the key is known with different content; nothing was written.
 */
PAWL_API PAWL_MUST_CHECK pawl_status
pawl_inbox_already_processed(pawl_store *store, const char *source, const char *id,
                             const uint8_t *hash, bool *ret_processed, pawl_error *err);
/*
 * Begins and counts an attempt: of several callers one gets PAWL_OK, for 30 seconds, and gets it
 * again for each further attempt. A caller is a thread with this store. PAWL_E_HELD: another caller
 * is processing the message. PAWL_E_LOST: it was processed, or is dead (after 10 attempts).
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_inbox_mark_processing(pawl_store *store,
                                                                const char *source, const char *id,
                                                                pawl_error *err);
/*
 * The same for callers that are not threads: `holder` names the caller, 1 to 255 characters; NULL:
 * this thread. (In PostgreSQL any language can do this: pawl.inbox_begin(..., holder => ...).)
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_inbox_mark_processing_by(
    pawl_store *store, const char *source, const char *id, const char *holder, pawl_error *err);
/*
 * Marks the message as processed. PAWL_E_NOT_FOUND: it was never seen. PAWL_E_LOST: it is dead. May
 * be repeated.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_inbox_mark_processed(pawl_store *store,
                                                               const char *source, const char *id,
                                                               pawl_error *err);
/*
 * Marks the message as dead. PAWL_E_NOT_FOUND: it was never seen. PAWL_E_LOST: it was processed.
 * May be repeated.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_inbox_mark_dead(pawl_store *store, const char *source,
                                                          const char *id, const char *error,
                                                          pawl_error *err);

PAWL_END_DECLS

#endif

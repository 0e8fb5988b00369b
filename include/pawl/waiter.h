/*
 * include/pawl/waiter.h - waiters: waiting for claimable messages, for custom claim loops.
 *
 *     while (running) {
 *         if (claim finds something) { pawl_waiter_disarm(); work; continue; }
 *         pawl_waiter_arm();
 *         if (claim finds something) { pawl_waiter_disarm(); work; continue; }
 *         pawl_waiter_wait();
 *     }
 *
 * Any message that becomes ready after the second claim began ends the wait, whether another
 * thread, another process or SQL committed it. pawl_worker_run() uses the same protocol internally.
 */
#ifndef PAWL_WAITER_H
#define PAWL_WAITER_H

#include <stddef.h>
#include <stdint.h>

#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/queue.h>
#include <pawl/store.h>

PAWL_BEGIN_DECLS

typedef struct pawl_waiter pawl_waiter;

/**
 * Creates a waiter.
 *
 * Ownership: *ret_waiter is the caller's (pawl_waiter_free); `store` must outlive it.
 * Threads:   one at a time, except for pawl_waiter_wake().
 * Blocks:    no. PostgreSQL: arming opens a connection of its own, in addition to the store's.
 * Errors:    PAWL_E_INVALID, PAWL_E_NOMEM (also out of descriptors).
 */
PAWL_API PAWL_EXPERIMENTAL PAWL_MUST_CHECK pawl_status pawl_waiter_new(pawl_store *store,
                                                                       pawl_waiter **ret_waiter,
                                                                       pawl_error *err);
PAWL_API PAWL_EXPERIMENTAL void pawl_waiter_free(pawl_waiter *waiter); /* NULL is allowed */

/*
 * Arms the waiter, after a claim with the same options (NULL: the default) found nothing; then
 * claim once more. The names are borrowed until the wait has ended. A few round trips, usually one.
 * After an error it is not armed.
 */
PAWL_API PAWL_EXPERIMENTAL PAWL_MUST_CHECK pawl_status
pawl_waiter_arm(pawl_waiter *waiter, const pawl_claim_options *opts, pawl_error *err);

/*
 * Waits until a message may be ready, `fd` (-1: none) is readable, pawl_waiter_wake() is called,
 * or `timeout_ms` (>= 0) have passed; if it is not armed, it returns at once. It is not armed
 * afterwards. PAWL_OK whatever ended the wait; PAWL_E_INTERRUPTED after pawl_store_interrupt().
 */
PAWL_API PAWL_EXPERIMENTAL PAWL_MUST_CHECK pawl_status pawl_waiter_wait(pawl_waiter *waiter,
                                                                        int64_t timeout_ms, int fd,
                                                                        pawl_error *err);

/*
 * Disarms the waiter because a claim found something. Call it every time; usually it only reads the
 * clock.
 */
PAWL_API PAWL_EXPERIMENTAL void pawl_waiter_disarm(pawl_waiter *waiter);

/* Ends the current wait, or the next one. Any thread. */
PAWL_API PAWL_EXPERIMENTAL void pawl_waiter_wake(pawl_waiter *waiter);

PAWL_END_DECLS

#endif

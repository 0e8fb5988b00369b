/*
 * include/pawl/waiter.h - waiting until there may be something to claim, for claim loops of one's
 * own.
 *
 *     while (running) {
 *         if (claim finds something) { pawl_waiter_disarm(); work; continue; }
 *         pawl_waiter_arm();
 *         if (claim finds something) { pawl_waiter_disarm(); work; continue; }
 *         pawl_waiter_wait();
 *     }
 *
 * Whatever becomes ready after the second claim began ends the wait, whoever committed it: another
 * thread, another process, SQL. pawl_worker_run() does the same inside.
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
 * Ownership: *ret_waiter is the caller's (pawl_waiter_free); `store` must outlive it.
 * Threads:   one at a time, except for pawl_waiter_nudge().
 * Blocks:    no. PostgreSQL: arming opens a connection of its own, besides the store's.
 * Errors:    PAWL_E_INVALID, PAWL_E_NOMEM (also out of descriptors).
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_waiter_new(pawl_store *store, pawl_waiter **ret_waiter,
                                                     pawl_error *err);
PAWL_API void pawl_waiter_free(pawl_waiter *waiter); /* NULL is fine */

/*
 * Get ready to wait, after a claim with the same options (NULL: the default) that found nothing;
 * then claim once more. The names are borrowed until the wait has ended. A few round trips, usually
 * one. After an error it is not armed.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_waiter_arm(pawl_waiter *waiter,
                                                     const pawl_claim_options *opts,
                                                     pawl_error *err);
/*
 * The same for messages to any destination but these `count` (0: any), also to those that nobody
 * has sent to before.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_waiter_arm_others(pawl_waiter *waiter,
                                                            const char *const *destinations,
                                                            size_t count, pawl_error *err);

/*
 * Wait until something may be ready, `fd` (-1: none) can be read, pawl_waiter_nudge(), or
 * `timeout_ms` (>= 0) have passed; not armed, it returns at once. Not armed afterwards. PAWL_OK
 * whatever ended it; PAWL_E_INTERRUPTED after pawl_store_interrupt().
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_waiter_wait(pawl_waiter *waiter, int64_t timeout_ms,
                                                      int fd, pawl_error *err);

/* A claim found something. Call it every time; mostly it costs a look at the clock. */
PAWL_API void pawl_waiter_disarm(pawl_waiter *waiter);

/* Any thread: end the wait that runs, or the next one. */
PAWL_API void pawl_waiter_nudge(pawl_waiter *waiter);

PAWL_END_DECLS

#endif

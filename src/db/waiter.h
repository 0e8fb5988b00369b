/*
 * src/db/waiter.h - the waiter: how a claiming thread waits until there may be something to claim.
 *
 *     while (running) {
 *         if (claim finds something) { pawli_waiter_disarm(); work; continue; }
 *         pawli_waiter_arm();
 *         if (claim finds something) { pawli_waiter_disarm(); work; continue; }
 *         pawli_waiter_wait();
 *     }
 *
 * Any message that becomes ready after the second claim began ends the wait, regardless of who
 * committed it. docs/internals/wake-ups.md explains why.
 */
#ifndef PAWLI_WAITER_H
#define PAWLI_WAITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/clock.h>
#include <pawl/error.h>

#include "db.h"
#include "scope.h"

typedef struct pawli_waiter pawli_waiter;

typedef struct pawli_waiter_options {
    bool use_notify; /* false: poll only, as behind PgBouncer in transaction mode */
    /* Maximum duration of a wait: covers unforeseen cases. */
    int64_t max_wait_us;
    int64_t deaf_us;      /* the same while there is no commit listener (PostgreSQL) */
    int64_t unsettled_us; /* the same while senders may not see the idle worker (PostgreSQL) */
    int64_t poll_us;      /* maximum interval between two polls for a commit (SQLite) */
    /* A worker that is busy this long is no longer registered as idle (PostgreSQL); this is not
     * repeated before 50 times as long has passed. */
    int64_t linger_us;
} pawli_waiter_options;
#define PAWLI_WAITER_OPTIONS_INIT                                                                  \
    {                                                                                              \
        true, 30000000, 1000000, 250000, 250000, 100000                                            \
    }

/* Why a wait ended. All but the last two mean: claim. */
typedef enum pawli_woken {
    PAWLI_WOKEN_SENT,     /* something became ready */
    PAWLI_WOKEN_DUE,      /* the next message is due */
    PAWLI_WOKEN_POLL,     /* the maximum duration has passed */
    PAWLI_WOKEN_CALLED,   /* by pawli_waiter_wake() */
    PAWLI_WOKEN_DEADLINE, /* the caller's deadline */
} pawli_woken;

/*
 * `db` must outlive it. `opts` may be NULL. PostgreSQL: one connection of its own, in addition to
 * the pool's, opened when it is first armed. One thread at a time uses a waiter, except for
 * pawli_waiter_wake().
 */
pawl_status pawli_waiter_new(pawli_db *db, const pawli_waiter_options *opts,
                             pawli_waiter **ret_waiter, pawl_error *err);
void pawli_waiter_free(pawli_waiter *waiter); /* NULL is allowed */
PAWLI_AUTO_DEFINE(pawli_waiter, pawli_waiter_free);

/*
 * Arms the waiter, after a claim that found nothing; then claim once more. `topics` as for that
 * claim: NULL for all, borrowed until the wait has ended. A few round trips, bounded by the store's
 * timeout; usually one. After an error it is not armed.
 */
pawl_status pawli_waiter_arm(pawli_waiter *waiter, const char *const *topics, size_t topic_count,
                             pawl_error *err);
/*
 * The same for claims that name destinations: for messages to these; or, with `others`, to any
 * except these (`names` may then be NULL). Borrowed until the wait has ended.
 */
pawl_status pawli_waiter_arm_remote(pawli_waiter *waiter, const char *const *names, size_t count,
                                    bool others, pawl_error *err);
/*
 * Waits, after a second claim that found nothing. PAWL_E_INTERRUPTED after pawli_db_interrupt().
 * Not armed afterwards. `ret_why` may be NULL.
 */
pawl_status pawli_waiter_wait(pawli_waiter *waiter, pawl_mono deadline, pawli_woken *ret_why,
                              pawl_error *err);
/*
 * Disarms the waiter because a claim found something. Call it every time: it stops senders from
 * notifying this worker, but only after it has been busy for a moment. Usually it only reads the
 * clock.
 */
void pawli_waiter_disarm(pawli_waiter *waiter);

/*
 * Sets a descriptor that also ends waits, as pawli_waiter_wake() does, when it is readable; -1:
 * none. Borrowed.
 */
void pawli_waiter_watch(pawli_waiter *waiter, int fd);

/* Ends the current wait, or the next one. Any thread. */
void pawli_waiter_wake(pawli_waiter *waiter);

#endif

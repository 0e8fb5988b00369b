/* include/pawl/lease_runner.h - the lease runner: owns a lease and renews it automatically.
 *
 *     pawl_lease_runner_start(store, "nightly", &opts, &runner, &err);     PAWL_E_HELD: it is owned
 *     while (there is work && !pawl_lease_runner_lost(runner)) { ... }
 *     pawl_lease_runner_stop(runner, &err);                                releases it
 *     pawl_lease_runner_free(runner);
 *
 * The lost flag is advisory: any amount of time may pass between checking it and acting on it. For
 * a guarantee, call pawl_lease_guard() with pawl_lease_runner_fence() in the transaction that does
 * the work.
 */
#ifndef PAWL_LEASE_RUNNER_H
#define PAWL_LEASE_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/id.h>
#include <pawl/lease.h>
#include <pawl/log.h>
#include <pawl/store.h>

PAWL_BEGIN_DECLS

typedef struct pawl_lease_runner pawl_lease_runner; /* opaque */

/* Why a lease was lost. */
typedef enum pawl_lease_loss {
    PAWL_LEASE_KEPT = 0,    /* it was not lost */
    PAWL_LEASE_REFUSED = 1, /* the database rejected a renewal: expired, or released by force */
    PAWL_LEASE_LATE = 2,    /* no renewal in time, by the local clock */
    PAWL_LEASE_FAILED = 3   /* three consecutive renewals failed */
} pawl_lease_loss;

/* "kept", "refused", "late", "failed". Never NULL. */
PAWL_API const char *pawl_lease_loss_name(pawl_lease_loss loss);

/* Called once, only from within one of the calls below, on the application's thread. */
typedef void (*pawl_lease_on_lost)(pawl_lease_runner *runner, pawl_lease_loss loss, void *context);

typedef struct pawl_lease_runner_options {
    size_t size;                /* set by PAWL_LEASE_RUNNER_OPTIONS_INIT, never by hand */
    int64_t ttl_ms;             /* PAWL_LEASE_TTL_MIN_MS .. PAWL_LEASE_TTL_MAX_MS */
    int renew_percent;          /* of the ttl, after which it is renewed: 10 .. 90 */
    int jitter_percent;         /* of the ttl, maximum random delay added to that: 0 .. 20 */
    int64_t wait_ms;            /* how long to wait for another owner; 0: try once */
    pawl_owner owner;           /* all zero: a new one */
    const char *owner_name;     /* NULL: "host:pid"; copied */
    pawl_lease_on_lost on_lost; /* may be NULL */
    void *context;
    /* For tests: no thread and no clock of its own. Time is the store's clock, and
     * pawl_lease_runner_step() does the work that is due by it. wait_ms must be 0. */
    bool by_steps;
    pawl_log_sink log; /* write NULL: use the store's */
} pawl_lease_runner_options;
#define PAWL_LEASE_RUNNER_OPTIONS_INIT                                                             \
    {                                                                                              \
        sizeof(pawl_lease_runner_options), PAWL_LEASE_TTL_MS, 60, 5, 0, {{0}}, NULL, NULL, NULL,   \
            false,                                                                                 \
        {                                                                                          \
            NULL, NULL, PAWL_LOG_INFO                                                              \
        }                                                                                          \
    }

/**
 * Acquires the lease and keeps renewing it: at renew_percent of its ttl, and after a failure every
 * twentieth of it (at least 100 ms). It is lost at the first of: a rejected renewal; three
 * consecutive failures; the local deadline, which is the time just before the last successful
 * request plus the ttl less max(50 ms, 1 %), by CLOCK_BOOTTIME. A lost lease stays lost: start
 * another runner.
 *
 * Ownership: *ret_runner is the caller's (pawl_lease_runner_free); untouched on failure. `store`
 *            must outlive it. `opts` may be NULL: all defaults.
 * Threads:   any. The runner's own thread, between this call and pawl_lease_runner_stop(), runs no
 *            user code and blocks signals. The other calls: any thread, except where noted.
 * Blocks:    until the lease is acquired; while it has another owner up to wait_ms, trying again
 *            when that lease expires and about every second. pawl_store_interrupt() ends the wait.
 * Durable:   as pawl_lease_acquire(). After PAWL_E_IN_DOUBT the lease may have been acquired; it
 *            then expires by itself.
 * Errors:    as pawl_lease_acquire(); PAWL_E_HELD after wait_ms; PAWL_E_INTERRUPTED; PAWL_E_NOMEM.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_lease_runner_start(pawl_store *store, const char *name,
                                                             const pawl_lease_runner_options *opts,
                                                             pawl_lease_runner **ret_runner,
                                                             pawl_error *err);

/*
 * Whether the lease is lost. Checks only the local clock and returns immediately; calls on_lost if
 * that has not been done yet. Also true after pawl_lease_runner_stop().
 */
PAWL_API bool pawl_lease_runner_lost(pawl_lease_runner *runner);
/* The same as a status: PAWL_E_LOST, with the reason in the message. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_lease_runner_check(pawl_lease_runner *runner,
                                                             pawl_error *err);
/* The reason; PAWL_LEASE_KEPT while it is not lost. */
PAWL_API pawl_lease_loss pawl_lease_runner_loss(const pawl_lease_runner *runner);
/*
 * A descriptor that becomes readable for poll() and epoll when the lease is lost, also at the local
 * deadline while a renewal hangs. Borrowed; only for waiting: do not read it. Then call
 * pawl_lease_runner_lost().
 */
PAWL_API int pawl_lease_runner_fd(const pawl_lease_runner *runner);

/*
 * The fencing token: constant, for pawl_lease_guard() and for systems that must reject an older
 * owner.
 */
PAWL_API int64_t pawl_lease_runner_fence(const pawl_lease_runner *runner);
PAWL_API pawl_owner pawl_lease_runner_owner(const pawl_lease_runner *runner);
PAWL_API const char *pawl_lease_runner_name(const pawl_lease_runner *runner);
/* When the lease expires by the database's clock, as of the last renewal. */
PAWL_API pawl_wall pawl_lease_runner_expires_at(const pawl_lease_runner *runner);

/*
 * Renews the lease now, for example before a long operation. PAWL_E_LOST: it is lost. Any other
 * failure counts as one of the three. One round trip.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_lease_runner_renew_now(pawl_lease_runner *runner,
                                                                 pawl_error *err);

/*
 * Stops the thread and releases the lease. Waits for a renewal in progress. A lease that could not
 * be released expires by itself. PAWL_E_LOST: it had already been lost; otherwise the status of the
 * release. Call it once, from one thread; a second call is PAWL_OK and does nothing.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_lease_runner_stop(pawl_lease_runner *runner,
                                                            pawl_error *err);
/* Stops it if that was not done. No call may be in progress on it. NULL is allowed. */
PAWL_API void pawl_lease_runner_free(pawl_lease_runner *runner);

/*
 * With by_steps: reads the store's clock and does the work that is due by it. PAWL_E_LOST when the
 * lease is lost. A failed renewal is returned, and retried by a later step. PAWL_E_MISUSE without
 * by_steps.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_lease_runner_step(pawl_lease_runner *runner,
                                                            pawl_error *err);

PAWL_END_DECLS

#endif

/* include/pawl/lease_runner.h - holding a lease for as long as it takes: renewed by itself.
 *
 *     pawl_lease_runner_start(store, "nightly", &opts, &runner, &err);     PAWL_E_HELD: somebody is
 *     while (there is work && !pawl_lease_runner_lost(runner)) { ... }
 *     pawl_lease_runner_stop(runner, &err);                                gives it back
 *     pawl_lease_runner_free(runner);
 *
 * The lost flag is advice: any amount of time may pass between asking and doing. The promise is
 * pawl_lease_guard() with pawl_lease_runner_fence() in the transaction that does it.
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

/* Why it was lost. */
typedef enum pawl_lease_loss {
    PAWL_LEASE_KEPT = 0,    /* it was not */
    PAWL_LEASE_REFUSED = 1, /* the database says that it is not ours: ran out, or taken away */
    PAWL_LEASE_LATE = 2,    /* no renewal in time, by our own clock */
    PAWL_LEASE_FAILED = 3   /* three renewals in a row failed */
} pawl_lease_loss;

/* "kept", "refused", "late", "failed". Never NULL. */
PAWL_API const char *pawl_lease_loss_name(pawl_lease_loss loss);

/* Called once, inside one of the calls below that the application makes, never by itself. */
typedef void (*pawl_lease_on_lost)(pawl_lease_runner *runner, pawl_lease_loss loss, void *context);

typedef struct pawl_lease_runner_options {
    size_t size;                /* set by PAWL_LEASE_RUNNER_OPTIONS_INIT, never by hand */
    int64_t ttl_ms;             /* PAWL_LEASE_TTL_MIN_MS .. PAWL_LEASE_TTL_MAX_MS */
    int renew_percent;          /* of the ttl, when it is renewed: 10 .. 90 */
    int jitter_percent;         /* of the ttl, at most so much later, by chance: 0 .. 20 */
    int64_t wait_ms;            /* while somebody else holds it, try for so long; 0: once */
    pawl_owner owner;           /* all zero: a new one */
    const char *owner_name;     /* NULL: "host:pid"; copied */
    pawl_lease_on_lost on_lost; /* may be NULL */
    void *context;
    /* For tests: no thread and no clock of its own. Time is the store's clock, and
     * pawl_lease_runner_step() does what is due by it. wait_ms must be 0. */
    bool by_steps;
    pawl_log_sink log; /* write NULL: the store's */
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
 * Take the lease and keep it: it is renewed at renew_percent of its length, and after a failure
 * every twentieth of it (at least 100 ms). It is lost at the first of: a refusal; three failures in
 * a row; the local deadline, which is the time before the last successful request plus the ttl less
 * max(50 ms, 1 %), by CLOCK_BOOTTIME. A lost lease stays lost: start another runner.
 *
 * Ownership: *ret_runner is the caller's (pawl_lease_runner_free); untouched on failure. `store`
 *            must outlive it. `opts` may be NULL: all defaults.
 * Threads:   any. The runner's own thread, between this call and pawl_lease_runner_stop(), runs no
 *            user code and blocks signals. The other calls: any thread, except where said.
 * Blocks:    until it is taken; while somebody else holds it up to wait_ms, looking when the lease
 *            ends and about every second. pawl_store_interrupt() ends the wait.
 * Durable:   as pawl_lease_acquire(). After PAWL_E_IN_DOUBT the lease may be taken, and ends by
 *            itself.
 * Errors:    as pawl_lease_acquire(); PAWL_E_HELD after wait_ms; PAWL_E_INTERRUPTED; PAWL_E_NOMEM.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_lease_runner_start(pawl_store *store, const char *name,
                                                             const pawl_lease_runner_options *opts,
                                                             pawl_lease_runner **ret_runner,
                                                             pawl_error *err);

/*
 * Whether it is lost. Asks only our own clock, and takes no time; runs on_lost if nobody has yet.
 * True after pawl_lease_runner_stop(), too.
 */
PAWL_API bool pawl_lease_runner_lost(pawl_lease_runner *runner);
/* The same as a status: PAWL_E_LOST, and the message says why. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_lease_runner_check(pawl_lease_runner *runner,
                                                             pawl_error *err);
/* Why; PAWL_LEASE_KEPT as long as it is not lost. */
PAWL_API pawl_lease_loss pawl_lease_runner_loss(const pawl_lease_runner *runner);
/*
 * A descriptor that poll() and epoll find readable when the lease is lost, also at the local
 * deadline while a renewal hangs. Borrowed; only for waiting: do not read it. Then ask
 * pawl_lease_runner_lost().
 */
PAWL_API int pawl_lease_runner_fd(const pawl_lease_runner *runner);

/* The token: constant, for pawl_lease_guard() and for whatever must refuse an older holder. */
PAWL_API int64_t pawl_lease_runner_fence(const pawl_lease_runner *runner);
PAWL_API pawl_owner pawl_lease_runner_owner(const pawl_lease_runner *runner);
PAWL_API const char *pawl_lease_runner_name(const pawl_lease_runner *runner);
/* When it ends by the database's clock, as of the last renewal. */
PAWL_API pawl_wall pawl_lease_runner_expires_at(const pawl_lease_runner *runner);

/*
 * Renew at once, for example before something that takes long. PAWL_E_LOST: it is lost. Any other
 * failure counts as one of the three. One round trip.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_lease_runner_renew_now(pawl_lease_runner *runner,
                                                                 pawl_error *err);

/*
 * End the thread and give the lease back. Waits for a renewal that is running. What could not be
 * given back ends by itself. PAWL_E_LOST: it had been lost before; otherwise what the release
 * answered. Once, by one thread; a second call is PAWL_OK and does nothing.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_lease_runner_stop(pawl_lease_runner *runner,
                                                            pawl_error *err);
/* Stops it if that was not done. No call may be running on it. NULL is fine. */
PAWL_API void pawl_lease_runner_free(pawl_lease_runner *runner);

/*
 * With by_steps: read the store's clock and do what is due by it. PAWL_E_LOST when it is lost.
 * A renewal that failed is returned, and tried again by a later step. PAWL_E_MISUSE otherwise.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_lease_runner_step(pawl_lease_runner *runner,
                                                            pawl_error *err);

PAWL_END_DECLS

#endif

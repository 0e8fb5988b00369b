/* include/pawl/testing.h - temporary stores for an application's own tests. docs/testing.md
 *
 * Not part of <pawl/pawl.h>: not for use in production. Together with pawl_worker_step() and
 * pawl_worker_until_idle() a test needs neither threads nor sleeps: it enqueues, moves the clock,
 * runs the worker and checks the result.
 */
#ifndef PAWL_TESTING_H
#define PAWL_TESTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/clock.h>
#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/store.h>

PAWL_BEGIN_DECLS

typedef struct pawl_testing pawl_testing; /* opaque */

typedef struct pawl_testing_options {
    size_t size; /* set by PAWL_TESTING_OPTIONS_INIT, never by hand */
    /* The store uses a virtual clock that stays at PAWL_TESTING_START until it is moved. Off: the
     * database's own. */
    bool virtual_clock;
    /* How the store is opened; NULL: the defaults, except that SQLite need not survive a power
     * failure. Its schema and deploy_schema are ignored. Everything in it is copied. */
    const pawl_store_options *store;
} pawl_testing_options;
#define PAWL_TESTING_OPTIONS_INIT                                                                  \
    {                                                                                              \
        sizeof(pawl_testing_options), false, NULL                                                  \
    }

/* 2026-01-01T00:00:00Z: the initial time of a virtual clock. */
#define PAWL_TESTING_START ((pawl_wall){INT64_C(1767225600000000)})

/**
 * Creates an empty private store, with its schema deployed, and opens it. `url` is one of:
 *   NULL                      a SQLite file in a new private directory under TMPDIR or /tmp
 *   "sqlite::memory:"         SQLite in memory: no second handle or process can reach it
 *   a PostgreSQL URL          a schema of its own, named pawl_test_..., in that database, in which
 *                             the role must be allowed to create schemas
 * A path to a SQLite file is rejected: existing data is never touched.
 *
 * Ownership: *ret_testing is the caller's (pawl_testing_free); untouched on failure. `opts` may be
 *            NULL: all defaults.
 * Threads:   any; its store may be used like any store.
 * Blocks:    connecting and creating the tables, bounded by the store's timeout.
 * Durable:   the tables are committed on PAWL_OK. On failure nothing is left behind, as far as the
 *            database can still be reached.
 * Errors:    as pawl_store_open(), PAWL_E_IO (no directory can be created), PAWL_E_DENIED (no
 *            schema may be created).
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_testing_new(const char *url,
                                                      const pawl_testing_options *opts,
                                                      pawl_testing **ret_testing, pawl_error *err);

/*
 * Closes the store and deletes everything: the directory with all its files, or the schema with
 * everything in it. Call it also when the test has failed; free workers and transactions of the
 * store before. If something cannot be removed it is left, with a warning in the store's log; a
 * transaction that is still open on the schema is waited for up to 5 s. In a child of fork() it
 * does nothing. NULL is allowed.
 */
PAWL_API void pawl_testing_free(pawl_testing *testing);

/* The store, borrowed: do not close it. */
PAWL_API pawl_store *pawl_testing_store(const pawl_testing *testing);
/*
 * The URL with which pawl_store_open() and the application's own connections reach the same
 * database: "sqlite:" and a path, or the URL that was given. Borrowed.
 */
PAWL_API const char *pawl_testing_url(const pawl_testing *testing);
/*
 * The schema of a PostgreSQL store: the `schema` of pawl_store_options for a second store. The
 * application's tables can be created in it, too, and are removed with it. "main" for SQLite, so
 * that SCHEMA.table names a table on both engines. Borrowed.
 */
PAWL_API const char *pawl_testing_schema(const pawl_testing *testing);

/**
 * Moves the virtual clock: to a given time, or forward by `ms` (>= 0). All stored and compared
 * times (due, expired, leased) use it, for every process that uses this store. Idle workers of this
 * process wake up and poll.
 *
 * Ownership: -
 * Threads:   any, except one that has a transaction open on the same SQLite file.
 * Blocks:    one or two round trips, bounded by the store's timeout.
 * Durable:   committed on PAWL_OK.
 * Errors:    PAWL_E_MISUSE (there is no virtual clock, or this thread has a transaction open),
 *            PAWL_E_INVALID (backwards, or forward by more than 100 years), and those of the
 *            database.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_testing_set(pawl_testing *testing, pawl_wall now,
                                                      pawl_error *err);
PAWL_API PAWL_MUST_CHECK pawl_status pawl_testing_advance(pawl_testing *testing, int64_t ms,
                                                          pawl_error *err);

/**
 * Drops the schemas of temporary stores, in the PostgreSQL database `url`, that were created more
 * than `older_ms` ago (>= 0) by the server's clock: those of tests that were killed. Only schemas
 * that pawl_testing_new() created and that this role may drop. Call it before the tests, with an
 * age that no test reaches.
 *
 * Ownership: *ret_removed (may be NULL) is the number of schemas dropped; also written on failure.
 * Threads:   any; any number of processes at once.
 * Blocks:    a few round trips per schema; 5 s for one that is still in use.
 * Durable:   each removal is committed separately.
 * Errors:    PAWL_E_INVALID, PAWL_E_UNSUPPORTED (SQLite: its directories are named pawl-test-...
 *            and are removed with TMPDIR), PAWL_E_BUSY (one is in use), and those of
 *            pawl_store_open().
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_testing_sweep(const char *url, int64_t older_ms,
                                                        size_t *ret_removed, pawl_error *err);

PAWL_END_DECLS

#endif

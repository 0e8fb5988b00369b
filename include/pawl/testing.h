/* include/pawl/testing.h - a temporary store for an application's own tests. docs/testing.md
 *
 * Not part of <pawl/pawl.h>: a program in production has no use for it. Together with
 * pawl_worker_step() and pawl_worker_until_idle() a test needs neither threads nor sleeps: it
 * sends, moves the clock, lets the worker work, and looks.
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
    /* The store has a clock that stands still at PAWL_TESTING_START until it is moved. Off: the
     * database's own. */
    bool virtual_clock;
    /* How the store is opened; NULL: the defaults, except that SQLite need not survive the loss of
     * power. Its schema and deploy_schema do not count. Everything in it is copied. */
    const pawl_store_options *store;
} pawl_testing_options;
#define PAWL_TESTING_OPTIONS_INIT                                                                  \
    {                                                                                              \
        sizeof(pawl_testing_options), false, NULL                                                  \
    }

/* 2026-01-01T00:00:00Z: where a virtual clock begins. */
#define PAWL_TESTING_START ((pawl_wall){INT64_C(1767225600000000)})

/**
 * Make an empty store that nobody else uses, deployed and open. `url` says where:
 *   NULL                      a SQLite file in a new private directory under TMPDIR or /tmp
 *   "sqlite::memory:"         SQLite in memory: no second handle or process can reach it
 *   a PostgreSQL URL          a schema of its own, named pawl_test_..., in that database, in which
 *                             the role must be allowed to create schemas
 * A path to a SQLite file is refused: nothing that exists is ever touched.
 *
 * Ownership: *ret_testing is the caller's (pawl_testing_free); untouched on failure. `opts` may be
 *            NULL: all defaults.
 * Threads:   any; what it answers may be used like any store.
 * Blocks:    connecting and making the tables, bounded by the store's timeout.
 * Durable:   the tables are committed on PAWL_OK. On failure nothing is left behind, as far as the
 *            database can still be reached.
 * Errors:    as pawl_store_open(), PAWL_E_IO (no directory can be made), PAWL_E_DENIED (no schema
 *            may be made).
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_testing_new(const char *url,
                                                      const pawl_testing_options *opts,
                                                      pawl_testing **ret_testing, pawl_error *err);

/*
 * Close the store and remove everything: the directory with all files in it, or the schema with
 * whatever was put into it. Call it also when the test has failed; workers and transactions of the
 * store are freed before. What cannot be removed is left, with a warning to the store's log; a
 * transaction that is still open on the schema is waited for 5 s. In a child of fork() it does
 * nothing. NULL is fine.
 */
PAWL_API void pawl_testing_free(pawl_testing *testing);

/* The store, borrowed: do not close it. */
PAWL_API pawl_store *pawl_testing_store(const pawl_testing *testing);
/* What pawl_store_open() and the application's own connections need to reach the same database.
 * Borrowed. "sqlite:" and a path, or the URL that was given. */
PAWL_API const char *pawl_testing_url(const pawl_testing *testing);
/*
 * The schema of a PostgreSQL store: `schema` of pawl_store_options for a second store; a good place
 * for the application's tables, too, which are removed with it. "main" for SQLite, so that
 * SCHEMA.table names a table on both engines. Borrowed.
 */
PAWL_API const char *pawl_testing_schema(const pawl_testing *testing);

/**
 * Move the virtual clock: to an instant, or on by `ms` (>= 0). Everything that is stored or
 * compared goes by it (due, expired, leased), for every process that uses this store. Workers of
 * this process that wait look again.
 *
 * Ownership: -
 * Threads:   any, but none that has a transaction open on the same SQLite file.
 * Blocks:    one or two round trips, bounded by the store's timeout.
 * Durable:   committed on PAWL_OK.
 * Errors:    PAWL_E_MISUSE (there is no virtual clock, or this thread has a transaction open),
 *            PAWL_E_INVALID (backwards, or on by more than 100 years), and those of the database.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_testing_set(pawl_testing *testing, pawl_wall now,
                                                      pawl_error *err);
PAWL_API PAWL_MUST_CHECK pawl_status pawl_testing_advance(pawl_testing *testing, int64_t ms,
                                                          pawl_error *err);

/**
 * Remove the schemas of temporary stores that were made more than `older_ms` ago (>= 0) by the
 * server's clock, in the PostgreSQL database `url`: those of tests that were killed. Only schemas
 * that pawl_testing_new() made and that this role may remove. Call it before the tests, with an age
 * that no test reaches.
 *
 * Ownership: *ret_removed (may be NULL) is how many it removed; written also when it fails.
 * Threads:   any; any number of processes at once.
 * Blocks:    a few round trips for each schema; 5 s for one that is still in use.
 * Durable:   each removal is committed by itself.
 * Errors:    PAWL_E_INVALID, PAWL_E_UNSUPPORTED (SQLite: its directories are named pawl-test-...
 *            and go with TMPDIR), PAWL_E_BUSY (one is in use), and those of pawl_store_open().
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_testing_sweep(const char *url, int64_t older_ms,
                                                        size_t *ret_removed, pawl_error *err);

PAWL_END_DECLS

#endif

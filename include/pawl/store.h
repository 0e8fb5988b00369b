/* include/pawl/store.h - a store: the database that contains pawl's tables. */
#ifndef PAWL_STORE_H
#define PAWL_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/backoff.h>
#include <pawl/clock.h>
#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/log.h>

PAWL_BEGIN_DECLS

typedef struct pawl_store pawl_store; /* opaque */

typedef enum pawl_durability {
    /* SQLite synchronous=FULL: acknowledged writes survive a power failure. */
    PAWL_DURABILITY_FULL = 0,
    /* SQLite synchronous=NORMAL: commits survive a crash of the process; the last commits may
     * not survive a crash of the machine. PostgreSQL ignores this option: the server's settings
     * decide. */
    PAWL_DURABILITY_NORMAL = 1
} pawl_durability;

/*
 * Prepared statements are faster, but do not work behind a pooler such as PgBouncer in transaction
 * mode. AUTO detects this per connection.
 */
typedef enum pawl_prepare {
    PAWL_PREPARE_AUTO = 0,
    PAWL_PREPARE_ON = 1,
    PAWL_PREPARE_OFF = 2
} pawl_prepare;

typedef struct pawl_store_options {
    size_t size; /* set by PAWL_STORE_OPTIONS_INIT, never by hand */
    /* Name of pawl's schema in PostgreSQL. NULL: "pawl". 1-40 of a-z, 0-9, _; must not start with a
     * digit. */
    const char *schema;
    /* Prefix of pawl's tables in SQLite. NULL: "pawl_". Same characters. */
    const char *table_prefix;
    /* Create or upgrade the tables when opening. Off: a missing schema is PAWL_E_NO_SCHEMA. */
    bool deploy_schema;
    pawl_durability durability;
    /* Every call returns within this time. 1 .. 3600000. */
    int64_t timeout_ms;
    /* Maximum number of PostgreSQL connections, 1 .. 1000, plus the same number for transactions of
     * pawl_tx_begin_for(). SQLite uses one writer and one reader, and one connection for those
     * transactions. */
    int pool_size;
    /* PostgreSQL: whether to keep prepared statements on each connection. */
    pawl_prepare prepare;
    pawl_log_sink log;
    /* Backoff policies that abandon uses for messages without one of their own. */
    pawl_backoff backoff_local;
    pawl_backoff backoff_remote;
    /* Inbox: how long a processed message is remembered, and for how long senders retry. The first
     * should be at least twice the second; otherwise a warning is logged. */
    int64_t inbox_keep_ms;
    int64_t inbox_retry_window_ms;
} pawl_store_options;
#define PAWL_STORE_OPTIONS_INIT                                                                    \
    {                                                                                              \
        sizeof(pawl_store_options), NULL, NULL, false, PAWL_DURABILITY_FULL, 30000, 10,            \
            PAWL_PREPARE_AUTO, {NULL, NULL, PAWL_LOG_INFO}, PAWL_BACKOFF_LOCAL,                    \
            PAWL_BACKOFF_REMOTE, (int64_t)48 * 3600 * 1000, (int64_t)24 * 3600 * 1000              \
    }

/**
 * Opens the store at `url`: "sqlite:path", "sqlite::memory:", a libpq URI ("postgresql://...") or a
 * libpq key/value string ("host=/run/postgresql dbname=app").
 *
 * Ownership: *ret_store is the caller's (pawl_store_close); untouched on failure. `url` and the
 *            strings in `opts` are copied. `opts` may be NULL: all defaults.
 * Threads:   any number of threads may use the store; it must not be used across fork().
 * Blocks:    connecting and one round trip, bounded by timeout_ms.
 * Durable:   with deploy_schema the schema is committed on PAWL_OK; on failure it may be committed
 *            too, but only completely. Otherwise nothing is written. A SQLite file that does not
 *            exist is created only with deploy_schema.
 * Errors:    PAWL_E_INVALID (bad url or option), PAWL_E_NO_SCHEMA (run `pawl init`),
 *            PAWL_E_INCOMPATIBLE, PAWL_E_NOT_OURS, PAWL_E_UNAVAILABLE, PAWL_E_NOT_FOUND (no such
 *            SQLite file), PAWL_E_READ_ONLY, PAWL_E_CORRUPT, PAWL_E_DENIED, PAWL_E_BUSY,
 *            PAWL_E_UNSUPPORTED (engine not built in), PAWL_E_NOMEM.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_store_open(const char *url,
                                                     const pawl_store_options *opts,
                                                     pawl_store **ret_store, pawl_error *err);

/* No call may be in progress on the store. NULL is allowed. */
PAWL_API void pawl_store_close(pawl_store *store);

/* "sqlite" or "postgres". Borrowed. */
PAWL_API const char *pawl_store_engine(const pawl_store *store);

/* The same for a URL, also if that engine is not built in; NULL: no known kind of URL. Static. */
PAWL_API const char *pawl_engine_of_url(const char *url);
/* The engines that are built in, from index 0; NULL after the last. Static. */
PAWL_API const char *pawl_engine_built_in(size_t index);

/*
 * Reads the database's clock, which decides what is due. One round trip. SQLite: the machine's wall
 * clock, but never earlier than a stored time; while the wall clock is behind that, time advances
 * by the boot clock.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_store_now(pawl_store *store, pawl_wall *ret_now,
                                                    pawl_error *err);

/* The result of pawl_store_reset_clock(). */
typedef struct pawl_clock_reset {
    size_t size;      /* set by PAWL_CLOCK_RESET_INIT, never by hand */
    int64_t ahead_ms; /* how far the store's clock, or the times stored by it, were ahead */
    int64_t owned;    /* claimed messages, owned leases and inbox messages being processed */
    bool done;        /* the clock was set back */
} pawl_clock_reset;
#define PAWL_CLOCK_RESET_INIT                                                                      \
    {                                                                                              \
        sizeof(pawl_clock_reset), 0, 0, false                                                      \
    }

/**
 * Corrects the store after the machine's clock was ahead for a time and is right again: sets the
 * store's clock back to the machine's, and moves every time that was written meanwhile back by the
 * same amount, so that intervals stay the same. The due time of a message that was sent before then
 * is not changed. Nothing is done unless the clock is ahead by more than a second. PostgreSQL uses
 * the server's clock, which is already right: there only the stored times are moved, and
 * maintenance moves those of waiting messages without this call (pawl_queue_reap()). Jobs always
 * use the current clock. Stop all workers first.
 *
 * Threads:   any.
 * Blocks:    one transaction that reads all messages; other writers wait.
 * Durable:   on PAWL_OK.
 * Errors:    PAWL_E_HELD if a message or lease is owned, unless `force`: then leases expire by the
 *            new clock, and work in progress may run a second time. `dry_run`: *ret_reset says what
 *            would be done; owned messages and leases are no error.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_store_reset_clock(pawl_store *store, bool force,
                                                            bool dry_run,
                                                            pawl_clock_reset *ret_reset,
                                                            pawl_error *err);

/*
 * Interrupts every call that is in progress on the store: it returns soon, with PAWL_E_INTERRUPTED
 * unless it had already finished; a call that is still connecting returns by its timeout. Later
 * calls are not affected. May be called from any thread; not async-signal-safe.
 */
PAWL_API void pawl_store_interrupt(pawl_store *store);

/* The installed schema version and the version that this library installs. */
typedef struct pawl_schema_info {
    size_t size;         /* set by PAWL_SCHEMA_INFO_INIT, never by hand */
    int version;         /* 0: pawl's tables do not exist */
    int compatible_from; /* the oldest library schema version that may use it */
    int library_version; /* the version that this library installs */
    bool code_outdated;  /* the functions and views are to be created or are of an older release:
                            pawl_schema_deploy() replaces them */
} pawl_schema_info;
#define PAWL_SCHEMA_INFO_INIT                                                                      \
    {                                                                                              \
        sizeof(pawl_schema_info), 0, 0, 0, false                                                   \
    }

/*
 * Reads the schema version without opening a store, so that a missing or newer schema can be
 * reported. For a SQLite file that does not exist the version is 0. Errors as pawl_store_open,
 * except PAWL_E_NO_SCHEMA and PAWL_E_INCOMPATIBLE.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_schema_inspect(const char *url,
                                                         const pawl_store_options *opts,
                                                         pawl_schema_info *ret_info,
                                                         pawl_error *err);

/*
 * Creates or upgrades the schema in one transaction; safe to call from many processes at once.
 * Functions and views of an older release are replaced; those of a newer one are not changed.
 * *ret_info (may be NULL) is the state before the call. Durable on PAWL_OK.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_schema_deploy(const char *url,
                                                        const pawl_store_options *opts,
                                                        pawl_schema_info *ret_info,
                                                        pawl_error *err);

/*
 * PostgreSQL: creates the roles pawl_send, pawl_work and pawl_admin if they are missing, and
 * sets their privileges to exactly what they need, also where privileges were changed manually.
 * pawl_schema_deploy does the same when it installs the schema. The user must own the schema or be
 * a superuser, and needs CREATEROLE if a role is missing.
 * Ownership: *ret_missing is the caller's (free()): the names of roles that are missing and that
 *            this user may not create, separated by ", "; nothing was granted then. NULL: none.
 * Errors:    as pawl_store_open; PAWL_E_UNSUPPORTED (SQLite has no roles), PAWL_E_DENIED.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_schema_grant(const char *url,
                                                       const pawl_store_options *opts,
                                                       char **ret_missing, pawl_error *err);

/*
 * Returns the SQL that upgrades a database from schema `from_version` (0: no schema) to this
 * library's schema, for a DBA to review and run: the migrations that are missing, then the
 * functions and views. `engine` is "sqlite" or "postgres".
 * Ownership: *ret_sql is the caller's (free()).
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_schema_sql(const char *engine, int from_version,
                                                     const pawl_store_options *opts, char **ret_sql,
                                                     pawl_error *err);

PAWL_END_DECLS

#endif

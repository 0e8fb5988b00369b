/* include/pawl/store.h - a database that pawl keeps its tables in. */
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
    /* SQLite synchronous=FULL: what was acknowledged survives power loss. */
    PAWL_DURABILITY_FULL = 0,
    /* SQLite synchronous=NORMAL: survives a crash of the process, the last commits may not
     * survive a crash of the machine. PostgreSQL ignores it: its own settings decide. */
    PAWL_DURABILITY_NORMAL = 1
} pawl_durability;

/* Prepared statements are faster, and cannot be used behind a pooler like PgBouncer that hands out
 * connections per transaction. AUTO finds out, per connection. */
typedef enum pawl_prepare {
    PAWL_PREPARE_AUTO = 0,
    PAWL_PREPARE_ON = 1,
    PAWL_PREPARE_OFF = 2
} pawl_prepare;

typedef struct pawl_store_options {
    size_t size; /* set by PAWL_STORE_OPTIONS_INIT, never by hand */
    /* Name of pawl's schema in PostgreSQL. NULL: "pawl". 1-40 of a-z, 0-9, _; not a digit first. */
    const char *schema;
    /* Prefix of pawl's tables in SQLite. NULL: "pawl_". Same characters. */
    const char *table_prefix;
    /* Create or upgrade the tables when opening. Off: a missing schema is PAWL_E_NO_SCHEMA. */
    bool deploy_schema;
    pawl_durability durability;
    /* Every call ends by this time with an answer. 1 .. 3600000. */
    int64_t timeout_ms;
    /* Most PostgreSQL connections at once, 1 .. 1000, and as many again for transactions of
     * pawl_message_begin(). SQLite uses one writer and one reader, and one for those. */
    int pool_size;
    /* PostgreSQL: whether to keep prepared statements on each connection. */
    pawl_prepare prepare;
    pawl_log_sink log;
    /* Delay policies used by abandon for messages that bring none of their own. */
    pawl_backoff backoff_local;
    pawl_backoff backoff_remote;
    /* Inbox: how long a processed message is remembered, and how long senders go on retrying. The
     * first should be at least twice the second; if not, the log says so. */
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
 * Open the store at `url`: "sqlite:path", "sqlite::memory:", a libpq URI ("postgresql://...") or a
 * libpq key/value string ("host=/run/postgresql dbname=app").
 *
 * Ownership: *ret_store is the caller's (pawl_store_close); untouched on failure. `url` and the
 *            strings in `opts` are copied. `opts` may be NULL: all defaults.
 * Threads:   the store may be used by any number of threads; not across fork().
 * Blocks:    connecting and one round trip, bounded by timeout_ms.
 * Durable:   with deploy_schema the schema is committed on PAWL_OK, and may be on failure, whole;
 *            otherwise nothing is written.
 *            A SQLite file that does not exist is created only with deploy_schema.
 * Errors:    PAWL_E_INVALID (bad url or option), PAWL_E_NO_SCHEMA (run `pawl init`),
 *            PAWL_E_INCOMPATIBLE, PAWL_E_NOT_OURS, PAWL_E_UNAVAILABLE, PAWL_E_NOT_FOUND (no such
 *            SQLite file), PAWL_E_READ_ONLY, PAWL_E_CORRUPT, PAWL_E_DENIED, PAWL_E_BUSY,
 *            PAWL_E_UNSUPPORTED (engine not built in), PAWL_E_NOMEM.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_store_open(const char *url,
                                                     const pawl_store_options *opts,
                                                     pawl_store **ret_store, pawl_error *err);

/* No call may be running on it. NULL is fine. */
PAWL_API void pawl_store_close(pawl_store *store);

/* "sqlite" or "postgres". Borrowed. */
PAWL_API const char *pawl_store_engine(const pawl_store *store);

/* inbox_keep_ms, as the store was opened with. */
PAWL_API int64_t pawl_store_inbox_keep_ms(const pawl_store *store);

/* The database's clock, the one that decides what is due. One round trip. SQLite: the wall clock of
 * the machine, but never less than a time that was stored; while the wall clock is behind that,
 * time goes on by the boot clock. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_store_now(pawl_store *store, pawl_wall *ret_now,
                                                    pawl_error *err);

/* What pawl_store_reset_clock() found and did. */
typedef struct pawl_clock_reset {
    int64_t ahead_ms; /* how far the store's clock, or what is stored by it, was ahead */
    int64_t held;     /* messages, leases and received messages that were held */
    bool done;        /* it was set back */
} pawl_clock_reset;

/**
 * The machine's clock was ahead once and is right now: set the store's clock back to it, and every
 * time that was written meanwhile by the same amount, so that what was to happen in a minute still
 * happens in a minute. A due time for which a message was sent before stays as it is. Nothing is
 * done if the clock is not ahead by more than a second. PostgreSQL's clock is the server's and is
 * right already: there only the times are set back, and maintenance does it without this call for
 * what waits (pawl_queue_reap()). Jobs go by the clock as it is. Stop all workers first.
 *
 * Threads:   any.
 * Blocks:    one transaction that reads all messages; other writers wait.
 * Durable:   on PAWL_OK.
 * Errors:    PAWL_E_HELD if something is held, unless `force`: then leases end by the new clock,
 * and what runs may run a second time. `dry_run`: *ret_reset says what would be done; no error.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_store_reset_clock(pawl_store *store, bool force,
                                                            bool dry_run,
                                                            pawl_clock_reset *ret_reset,
                                                            pawl_error *err);

/*
 * Make every call that is running on the store now end soon, with PAWL_E_INTERRUPTED unless it had
 * already finished; one that is still connecting ends by its timeout. Calls made afterwards are not
 * affected. Any thread; async-signal-unsafe.
 */
PAWL_API void pawl_store_interrupt(pawl_store *store);

/* What is installed and what this library would install. */
typedef struct pawl_schema_info {
    int version;         /* 0: pawl's tables are not there */
    int compatible_from; /* the oldest library schema number that may use it */
    int library_version; /* what this library would install */
} pawl_schema_info;

/*
 * Look at the schema without opening a store, so that a missing or newer one can be reported.
 * A SQLite file that does not exist answers version 0. Errors as pawl_store_open, less
 * PAWL_E_NO_SCHEMA and PAWL_E_INCOMPATIBLE.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_schema_inspect(const char *url,
                                                         const pawl_store_options *opts,
                                                         pawl_schema_info *ret_info,
                                                         pawl_error *err);

/*
 * Create or upgrade the schema, in one transaction, safe to call from many processes at once.
 * *ret_info (may be NULL) is the state before. Durable on PAWL_OK.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_schema_deploy(const char *url,
                                                        const pawl_store_options *opts,
                                                        pawl_schema_info *ret_info,
                                                        pawl_error *err);

/*
 * PostgreSQL: create the roles pawl_send, pawl_work and pawl_admin where they are missing, and
 * grant them what they may do: all of it, and nothing more, also where rights were changed by hand.
 * pawl_schema_deploy does the same when it installs the schema. The user must own the schema, or be
 * a superuser, and needs CREATEROLE if a role is missing.
 * Ownership: *ret_missing is the caller's (free()): the names of roles that are missing and that
 *            this user may not create, separated by ", ". Nothing was granted then. NULL: none.
 * Errors:    as pawl_store_open; PAWL_E_UNSUPPORTED (SQLite has no roles), PAWL_E_DENIED.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_schema_grant(const char *url,
                                                       const pawl_store_options *opts,
                                                       char **ret_missing, pawl_error *err);

/*
 * The SQL that would take a database from schema `from_version` (0: nothing there) to this
 * library's, for a DBA to read and run. `engine` is "sqlite" or "postgres".
 * Ownership: *ret_sql is the caller's (free()).
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_schema_sql(const char *engine, int from_version,
                                                     const pawl_store_options *opts, char **ret_sql,
                                                     pawl_error *err);

PAWL_END_DECLS

#endif

/* src/db/db.h - a database: its connections, its statements, and running ops on it. */
#ifndef PAWLI_DB_H
#define PAWLI_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/error.h>
#include <pawl/store.h>

#include "engine.h"
#include "op.h"
#include "scope.h"
#include "wake.h"

/* Does not connect yet. Everything in `opts` is copied. */
pawl_status pawli_db_new(const char *url, const pawl_store_options *opts, pawli_db **ret_db,
                         pawl_error *err);
void pawli_db_free(pawli_db *db);
PAWLI_AUTO_DEFINE(pawli_db, pawli_db_free);

const pawli_driver *pawli_db_driver(const pawli_db *db);
const pawli_engine *pawli_db_engine(const pawli_db *db);

/*
 * Runs an op in a transaction of its own. Lost races (deadlock, serialization) and connections that
 * were lost with nothing in doubt are retried until the timeout.
 */
pawl_status pawli_db_run(pawli_db *db, const pawli_op *op, pawl_error *err);

/*
 * Runs a writing op that scans the queue in its order, or one op and then such an op: `ops` is a
 * chain that ends with the scan. The engine may start it where it knows that no earlier row can be
 * ready. If the scan started too far on and `found_nothing(context of its op)`, it is run once
 * more, alone.
 */
pawl_status pawli_db_scan(pawli_db *db, const pawli_op *ops,
                          bool (*found_nothing)(const void *context), pawl_error *err);
/* For tests. NULL: the engine needs none. */
pawli_scanner *pawli_db_scanner(pawli_db *db);

/* Ends all running and waiting calls with PAWL_E_INTERRUPTED. Any thread. */
void pawli_db_interrupt(pawli_db *db);
/* How often that was done: a call that runs several ops compares it between them. */
uint64_t pawli_db_interrupts(pawli_db *db);

/*
 * How many writing connections were ever opened: when it increases, the server may be a different
 * one.
 */
uint64_t pawli_db_connections(pawli_db *db);

/*
 * SQLite: checkpoints as much of the write-ahead log as possible without waiting, so that it need
 * not be done under load. Takes the write lock.
 */
pawl_status pawli_db_checkpoint(pawli_db *db, pawl_error *err);

/* Signaled when a message was enqueued. */
pawli_wake *pawli_db_wake(pawli_db *db);

/* PAWL_E_MISUSE in a process that inherited the handle by fork(). */
pawl_status pawli_db_check_process(const pawli_db *db, pawl_error *err);

/* ---- the schema (migrate.c) ---- */

/* The schema version that this library installs. */
int pawli_db_library_version(const pawli_db *db);
/* The installed version; 0 when pawl's tables do not exist. */
pawl_status pawli_db_schema(pawli_db *db, pawl_schema_info *ret_info, pawl_error *err);
/* PAWL_OK if this library may use the schema. */
pawl_status pawli_db_check_schema(const pawl_schema_info *info, pawl_error *err);
/* Upgrades it in one transaction; *ret_before is the state before. */
pawl_status pawli_db_deploy(pawli_db *db, pawl_schema_info *ret_before, pawl_error *err);

/* ---- for tests only (migrate.c) ---- */

/*
 * Runs sql/ENGINE/testing/NAME.sql with `us` in place of :us, in a transaction of its own.
 * `ret_answer` (may be NULL) returns its first value, owned by the caller, NULL if there is none;
 * only where the driver supports it. PAWL_E_UNSUPPORTED: the engine has no such text.
 */
pawl_status pawli_db_testing(pawli_db *db, const char *name, int64_t us, char **ret_value,
                             pawl_error *err);

/* ---- the application's own transaction (foreign_tx.c) ---- */

typedef struct pawli_foreign_tx pawli_foreign_tx;

/* `native` is a struct sqlite3 * or struct pg_conn *, as named by `engine`. */
pawl_status pawli_db_wrap(pawli_db *db, const char *engine, void *native,
                          pawli_foreign_tx **ret_foreign_tx, pawl_error *err);
pawl_status pawli_foreign_tx_run(pawli_foreign_tx *foreign_tx, const pawli_op *op, pawl_error *err);
/* The engine's handle; NULL if the transaction has ended or `engine` is another. */
void *pawli_foreign_tx_native(pawli_foreign_tx *foreign_tx, const char *engine);
void pawli_foreign_tx_free(pawli_foreign_tx *foreign_tx); /* NULL is allowed */

#endif

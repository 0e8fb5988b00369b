/* src/db/db.h - one database: its connections, its statements, and running ops on it. */
#ifndef PAWLI_DB_H
#define PAWLI_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/error.h>
#include <pawl/store.h>

#include "driver.h"
#include "op.h"
#include "scope.h"
#include "wake.h"

typedef struct pawli_db pawli_db;

/* No connection is made yet. Everything in `opts` is copied. */
pawl_status pawli_db_new(const char *url, const pawl_store_options *opts, pawli_db **ret_db,
                         pawl_error *err);
void pawli_db_free(pawli_db *db);
PAWLI_AUTO_DEFINE(pawli_db, pawli_db_free);

const pawli_driver *pawli_db_driver(const pawli_db *db);

/*
 * Carry out an op in a transaction of its own. Lost races (deadlock, serialization) and connections
 * that were lost with nothing in doubt are tried again until the timeout.
 */
pawl_status pawli_db_run(pawli_db *db, const pawli_op *op, pawl_error *err);

/* Ends all running and waiting calls with PAWL_E_INTERRUPTED. Any thread. */
void pawli_db_interrupt(pawli_db *db);
/* How often that was done: a call that runs several ops compares it between them. */
uint64_t pawli_db_interrupts(pawli_db *db);

/* How many connections that write were ever opened: when it grows, the server may be another. */
uint64_t pawli_db_connections(pawli_db *db);

/*
 * Where there is a log that commits go to first: move what can be moved without waiting, so that it
 * need not be done in the middle of a load. Takes the writer's turn.
 */
pawl_status pawli_db_checkpoint(pawli_db *db, pawl_error *err);

/* Signals when something was sent. */
pawli_wake *pawli_db_wake(pawli_db *db);

/* PAWL_E_MISUSE in a process that got the handle by fork(). */
pawl_status pawli_db_check_process(const pawli_db *db, pawl_error *err);

/* ---- the schema (migrate.c) ---- */

/* The schema version this library would install. */
int pawli_db_library_version(const pawli_db *db);
/* What is installed; version 0 when pawl's tables are not there. */
pawl_status pawli_db_schema(pawli_db *db, pawl_schema_info *ret_info, pawl_error *err);
/* PAWL_OK if this library may use the schema. */
pawl_status pawli_db_check_schema(const pawl_schema_info *info, pawl_error *err);
/* Bring it up to date, in one transaction; *ret_before is what was there. */
pawl_status pawli_db_deploy(pawli_db *db, pawl_schema_info *ret_before, pawl_error *err);

/* ---- what only tests need (testing.c) ---- */

/*
 * Run sql/ENGINE/testing/NAME.sql with `us` in place of :us, in a transaction of its own.
 * `ret_answer` (may be NULL) asks for its first value, the caller's, NULL if there is none: where
 * the driver can be asked. PAWL_E_UNSUPPORTED: the engine has no such text.
 */
pawl_status pawli_db_testing(pawli_db *db, const char *name, int64_t us, char **ret_answer,
                             pawl_error *err);

/* ---- the application's own transaction (wrap.c) ---- */

typedef struct pawli_wrap pawli_wrap;

/* `native` is a struct sqlite3 * or struct pg_conn *, whose engine is named. */
pawl_status pawli_db_wrap(pawli_db *db, const char *engine, void *native, pawli_wrap **ret_wrap,
                          pawl_error *err);
pawl_status pawli_wrap_run(pawli_wrap *wrap, const pawli_op *op, pawl_error *err);
/* The engine's handle; NULL if the transaction has ended or `engine` is another. */
void *pawli_wrap_native(pawli_wrap *wrap, const char *engine);
void pawli_wrap_free(pawli_wrap *wrap); /* NULL is fine */

#endif

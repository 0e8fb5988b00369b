/* tests/harness/fixture.h - a fresh database with pawl in it, the same on every engine. */
#ifndef PAWL_TEST_FIXTURE_H
#define PAWL_TEST_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/pawl.h>

/*
 * The engine is the environment's: PAWL_TEST_ENGINE=sqlite|postgres. SQLite gets a file in a fresh
 * directory, PostgreSQL a fresh schema in the database that PAWL_TEST_POSTGRES names. Nothing here
 * returns an error: what cannot be done ends the test as failed. One thread at a time, except
 * where said.
 */
typedef struct fixture fixture;

typedef struct fixture_options {
    bool real_clock;                 /* keep the database's own clock instead of the virtual one */
    bool no_schema;                  /* an empty database: no tables, no store, no virtual clock */
    const char *table_prefix;        /* SQLite: NULL is "pawl_" */
    const pawl_store_options *store; /* NULL: defaults; schema, prefix and log are the fixture's */
} fixture_options;

/* `opts` may be NULL. The fixture closes itself when the test ends, passed or failed. */
fixture *fixture_open(const fixture_options *opts);
/* Earlier than the end of the test. NULL is fine. */
void fixture_close(fixture *f);

bool fixture_is_postgres(const fixture *f);
/* Any thread may use the store. NULL after fixture_open with no_schema, until fixture_reopen. */
pawl_store *fixture_store(fixture *f);
/* The URL and options for pawl_store_open() of the same database. Borrowed. */
const char *fixture_url(const fixture *f);
const pawl_store_options *fixture_store_options(const fixture *f);
/* Closes the store and opens it again. Leased messages stay leased. */
void fixture_reopen(fixture *f);
/* One more store on the same database, as a second process would have; closed with the fixture. */
pawl_store *fixture_another_store(fixture *f);
/* Create the tables and the virtual clock now, after no_schema; does not open the store. */
void fixture_deploy(fixture *f);
/* A program may define this: what it does to every new schema (tests/upgrade). */
__attribute__((weak)) void fixture_deployed(fixture *f);

/* The virtual clock: starts at 2026-01-01T00:00:00Z and stands still until moved. */
#define FIXTURE_START ((pawl_wall){INT64_C(1767225600000000)})
/* The wall clock is stepped, in either direction; SQLite's boot clock stays where it is. */
void fixture_set(fixture *f, pawl_wall now);
/* Time passes, on every clock. */
void fixture_advance(fixture *f, int64_t ms);
/* The machine of a SQLite store starts again: its boot clock begins at 0. */
void fixture_restart_machine(fixture *f);
pawl_wall fixture_now(fixture *f);

/*
 * Plain SQL on a connection of the fixture's own, each call a transaction. printf-like: write %%
 * for a percent sign. Written once for both engines with:
 *   {body} {queue} {outcome} {claim} {lane} {meta} {message} {outbox} {timer} {test_clock}
 *   {any_other_word}      that table or view, in the fixture's schema or with its prefix
 *   {us:expression}       a stored time as microseconds since 1970
 *   {at:expression}       microseconds since 1970 as a stored time
 */
void fixture_exec(fixture *f, const char *sql, ...) PAWL_PRINTF(2, 3);
/* Column 0 of the first row as a number; false is 0, true is 1, no row or NULL is 0. */
int64_t fixture_count(fixture *f, const char *sql, ...) PAWL_PRINTF(2, 3);
/* Column 0 of the first row as text, until the test ends; NULL for no row or NULL. */
const char *fixture_text(fixture *f, const char *sql, ...) PAWL_PRINTF(2, 3);
/* Whether the database refuses the statement (a constraint); nothing stays when it does not. */
bool fixture_refuses(fixture *f, const char *sql, ...) PAWL_PRINTF(2, 3);
/*
 * From now on the database refuses each `event` (INSERT, UPDATE, DELETE) on `table` for whose row
 * `condition` is true, which NEW or OLD names; once per fixture. fixture_accept() ends that.
 */
void fixture_refuse(fixture *f, const char *table, const char *event, const char *condition);
void fixture_accept(fixture *f, const char *table);
/* Reconnect at the next use: the server was killed. */
void fixture_reconnect(fixture *f);
/*
 * PostgreSQL: wait until this process of the server has ended: it may still be committing. 0 is
 * none.
 */
void fixture_await_backend_end(fixture *f, int backend);
/*
 * PostgreSQL: wait until a call of this function of the fixture's schema waits for a lock; its
 * process. SQLite: 0 at once, there is nothing to be seen of a writer that waits.
 */
int fixture_await_blocked(fixture *f, const char *function);
/* Interrupt the store until the call has set `ended`: an interrupt before it does nothing. */
void fixture_interrupt_until(pawl_store *store, const _Atomic bool *ended);
/* The text with everything in braces replaced, until the test ends. */
const char *fixture_expand(fixture *f, const char *sql);

/*
 * The application's own transactions, on up to FIXTURE_HANDLES connections, which are opened when
 * first used. `begin` is BEGIN IMMEDIATE on SQLite and gives the foreign transaction, which
 * `commit` (then pawl_tx_committed) and `rollback` end and free.
 */
#define FIXTURE_HANDLES 4
pawl_tx *fixture_tx_begin(fixture *f, int which);
void fixture_tx_commit(fixture *f, int which);
void fixture_tx_rollback(fixture *f, int which);
/* SQL on that connection, inside its transaction if one is open. */
void fixture_tx_exec(fixture *f, int which, const char *sql, ...) PAWL_PRINTF(3, 4);
int64_t fixture_tx_count(fixture *f, int which, const char *sql, ...) PAWL_PRINTF(3, 4);
/* Whatever state the connection is in now; *ret_tx is freed with the fixture. */
pawl_status fixture_tx_foreign(fixture *f, int which, pawl_store *store, pawl_tx **ret_tx,
                               pawl_error *err);
/* The connection itself: NULL on the other engine. */
struct sqlite3 *fixture_sqlite(fixture *f, int which);
struct pg_conn *fixture_postgres(fixture *f, int which);

/* Log records of the fixture's stores, oldest first, from PAWL_LOG_DEBUG on. */
size_t fixture_log_count(fixture *f);
const char *fixture_log_at(fixture *f, size_t index); /* "warning outbox: text" */
bool fixture_logged(fixture *f, pawl_log_level level, const char *text_in_it);
/* Whether a record with `text_in_it` has this field; a number is "#2". */
bool fixture_logged_field(fixture *f, const char *text_in_it, const char *name, const char *value);
size_t fixture_logged_times(fixture *f, const char *text_in_it);
void fixture_log_clear(fixture *f);

/* Shortcuts that fail the test on any error. The list and its messages are valid until the test
 * ends. */
pawl_work_id fixture_send(fixture *f, const char *topic, const char *payload);
pawl_messages *fixture_claim(fixture *f, pawl_owner owner, int64_t lease_ms, int limit);
pawl_receipt fixture_receipt(const pawl_messages *list, size_t index);
pawl_state fixture_state(fixture *f, pawl_work_id id);

#endif

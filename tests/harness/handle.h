/* tests/harness/handle.h - the application's own connection to the database, on either engine. */
#ifndef PAWL_TEST_HANDLE_H
#define PAWL_TEST_HANDLE_H

#include <stdbool.h>

#include <pawl/pawl.h>

typedef struct handle handle;

typedef struct handle_engine {
    const char *name;  /* as in PAWL_TEST_ENGINE */
    const char *begin; /* the statement that opens a transaction which will write */
    /* NULL and a reason in `ret_message` when it cannot be opened. */
    handle *(*open)(const char *target, char ret_message[512]);
    void (*close)(handle *h);
    /*
     * Run one or more statements. *ret_value (may be NULL) becomes column 0 of the first row of the
     * last result as text that the caller frees, or NULL. False: the reason is in `ret_message`.
     */
    bool (*run)(handle *h, const char *sql, char **ret_value, char ret_message[512]);
    pawl_status (*foreign_tx)(handle *h, pawl_store *store, pawl_tx **ret_tx, pawl_error *err);
    void *(*native)(handle *h); /* struct sqlite3 * or struct pg_conn * */
} handle_engine;

/* NULL when the build has the engine switched off. */
extern const handle_engine *const handle_engine_sqlite;
extern const handle_engine *const handle_engine_postgres;

#endif

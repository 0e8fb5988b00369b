/*
 * bench/database.h - a database that one side works on, and what the bench itself does to it.
 *
 * Both sides have one of their own, made by pawl's migrations, so that the tables are the same. The
 * bench fills and tidies both in the same way, outside the measured time.
 */
#ifndef BENCH_DATABASE_H
#define BENCH_DATABASE_H

#include <stdint.h>

#include <pawl/pawl.h>

struct courier;
struct job_hands;
struct engine;
struct side;

typedef struct database {
    const struct engine *engine;
    pawl_durability durability;
    int topics;
    char target[4096]; /* the SQLite file, or the conninfo */
    char url[4200];    /* the same as pawl wants it */
    char schema[40];   /* PostgreSQL */
    void *handle;      /* the bench's own connection */
    int64_t ready;     /* messages that are ready and due, kept by those who change it */
} database;

typedef struct engine {
    const char *name; /* "sqlite", "postgres" */
    const struct side *raw;
    const struct courier *courier; /* by hand, like `raw` */
    const struct side *raw_receive;
    const struct job_hands *jobs; /* a scheduler's look by hand */
    /* Make it new: pawl's tables, empty but for `topics` lanes. Nobody else may use it meanwhile.
     */
    void (*reset)(database *db);
    /* Add `count` ready messages, spread over the topics. */
    void (*fill)(database *db, int64_t count);
    /* Add messages that a worker never wants: finished ones, and ones due in a day and later. */
    void (*add_ballast)(database *db, int64_t finished, int64_t future);
    /* Take away what is ready. */
    void (*clear_ready)(database *db);
    /* Vacuum or checkpoint, so that no side pays in its time for what was done before. */
    void (*tidy)(database *db);
    /*
     * CPU seconds that the server has spent on the sessions of that application so far; 0: not to
     * be seen from here. NULL: there is no server.
     */
    double (*sessions_cpu)(const database *db, const char *application);
    /* Make the application's table "effect", if it is not there; and add a row to it, inside the
     * transaction. */
    void (*make_effects)(database *db);
    void (*write_effect)(database *db, pawl_tx *tx);
    int64_t (*count_effects)(database *db);
    /* Remove it, and close the bench's connection. */
    void (*drop)(database *db);
} engine;

/* NULL where the engine is not built in. */
extern const engine *const engine_sqlite;
extern const engine *const engine_postgres;

/* How pawl opens it: for both sides' tables and for pawl's own store. */
pawl_store_options database_options(const database *db, int connections);

/* Install pawl's tables. */
void database_deploy(const database *db);

#endif

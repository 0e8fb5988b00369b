/* bench/pg.h - libpq's calls as the bench uses them: they end the program when they fail. */
#ifndef BENCH_PG_H
#define BENCH_PG_H

#include <stdbool.h>

#include <libpq-fe.h>

#include "database.h"

/* Connected, with the side's schema first in the search path. */
PGconn *pg_open(const database *db);
void pg_exec(PGconn *connection, const char *sql);
/* With text parameters. */
void pg_exec_params(PGconn *connection, const char *sql, int count, const char *const *values);
void pg_prepare(PGconn *connection, const char *name, const char *sql);
/* Ends the program unless the result is rows or "done"; returns it. */
PGresult *pg_check(PGconn *connection, PGresult *result);

/* One binary parameter list. */
#define PG_PARAMS_MAX 8
typedef struct pg_params {
    int count;
    const char *values[PG_PARAMS_MAX];
    int lengths[PG_PARAMS_MAX];
} pg_params;
void pg_add(pg_params *params, const void *value, size_t size);
/* Run a prepared statement with binary parameters and a binary answer. */
PGresult *pg_run(PGconn *connection, const char *name, const pg_params *params);

/* Bytes of numbers as the wire wants them. */
int64_t pg_number_of(const char *bytes);
typedef struct pg_wire32 {
    unsigned char bytes[4];
} pg_wire32;
typedef struct pg_wire64 {
    unsigned char bytes[8];
} pg_wire64;
pg_wire32 pg_wire32_of(int32_t value);
pg_wire64 pg_wire64_of(int64_t value);

/* A one-dimensional array under construction, in memory that is used again. */
typedef struct pg_array {
    char *data;
    size_t size, room;
} pg_array;
#define PG_OID_BYTEA 17
#define PG_OID_INT8 20
#define PG_OID_INT4 23
#define PG_OID_UUID 2950
void pg_array_begin(pg_array *array, unsigned element_oid, size_t count);
void pg_array_put(pg_array *array, const void *value, size_t size);

#endif

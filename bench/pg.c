/* bench/pg.c - libpq's calls as the bench uses them: they end the program when they fail. */
#include "pg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basics.h"

PGconn *pg_open(const database *db)
{
    PGconn *connection = PQconnectdb(db->target);
    char sql[128];

    if (PQstatus(connection) != CONNECTION_OK)
        die("PostgreSQL: %s", PQerrorMessage(connection));
    snprintf(sql, sizeof sql, "SET client_min_messages = warning; SET search_path = %s",
             db->schema);
    pg_exec(connection, sql);
    return connection;
}

PGresult *pg_check(PGconn *connection, PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);

    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        die("PostgreSQL: %s", PQerrorMessage(connection));
    return result;
}

void pg_exec(PGconn *connection, const char *sql)
{
    PQclear(pg_check(connection, PQexec(connection, sql)));
}

void pg_exec_params(PGconn *connection, const char *sql, int count, const char *const *values)
{
    PQclear(
        pg_check(connection, PQexecParams(connection, sql, count, NULL, values, NULL, NULL, 0)));
}

void pg_prepare(PGconn *connection, const char *name, const char *sql)
{
    PQclear(pg_check(connection, PQprepare(connection, name, sql, 0, NULL)));
}

void pg_add(pg_params *params, const void *value, size_t size)
{
    params->values[params->count] = value;
    params->lengths[params->count] = (int)size;
    params->count++;
}

PGresult *pg_run(PGconn *connection, const char *name, const pg_params *params)
{
    static const int binary[PG_PARAMS_MAX] = {1, 1, 1, 1, 1, 1, 1, 1};

    return pg_check(connection, PQexecPrepared(connection, name, params->count, params->values,
                                               params->lengths, binary, 1));
}

int64_t pg_number_of(const char *bytes)
{
    uint64_t value = 0;

    for (int i = 0; i < 8; i++)
        value = value << 8 | (unsigned char)bytes[i];
    return (int64_t)value;
}

pg_wire32 pg_wire32_of(int32_t value)
{
    pg_wire32 wire;

    for (int i = 0; i < 4; i++)
        wire.bytes[i] = (unsigned char)((uint32_t)value >> (24 - 8 * i));
    return wire;
}

pg_wire64 pg_wire64_of(int64_t value)
{
    pg_wire64 wire;

    for (int i = 0; i < 8; i++)
        wire.bytes[i] = (unsigned char)((uint64_t)value >> (56 - 8 * i));
    return wire;
}

static void append(pg_array *array, const void *bytes, size_t size)
{
    if (array->size + size > array->room) {
        array->room = 2 * (array->size + size);
        array->data = realloc(array->data, array->room);
        if (!array->data)
            die("out of memory");
    }
    memcpy(array->data + array->size, bytes, size);
    array->size += size;
}

static void append_int32(pg_array *array, int32_t value)
{
    pg_wire32 wire = pg_wire32_of(value);

    append(array, wire.bytes, sizeof wire.bytes);
}

void pg_array_begin(pg_array *array, unsigned element_oid, size_t count)
{
    array->size = 0;
    append_int32(array, count > 0 ? 1 : 0); /* dimensions */
    append_int32(array, 0);                 /* no NULLs */
    append_int32(array, (int32_t)element_oid);
    if (count == 0)
        return;
    append_int32(array, (int32_t)count);
    append_int32(array, 1); /* the first index */
}

void pg_array_put(pg_array *array, const void *value, size_t size)
{
    append_int32(array, (int32_t)size);
    append(array, value, size);
}

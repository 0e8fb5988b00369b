/* tests/fault/failing_postgres.c - libpq's functions, failing or losing the connection. */
#include "failing_private.h"

#if PAWL_TEST_POSTGRES
#include <libpq-fe.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>

PGconn *__real_PQconnectStart(const char *conninfo);
PGconn *__real_PQconnectStartParams(const char *const *names, const char *const *values,
                                    int expand);
int __real_PQsendQuery(PGconn *conn, const char *sql);
int __real_PQsendQueryParams(PGconn *conn, const char *sql, int count, const Oid *types,
                             const char *const *values, const int *lengths, const int *formats,
                             int result_format);
int __real_PQsendPrepare(PGconn *conn, const char *name, const char *sql, int count,
                         const Oid *types);
int __real_PQsendQueryPrepared(PGconn *conn, const char *name, int count, const char *const *values,
                               const int *lengths, const int *formats, int result_format);
int __real_PQpipelineSync(PGconn *conn);
int __real_PQflush(PGconn *conn);
int __real_PQconsumeInput(PGconn *conn);
PGresult *__real_PQgetResult(PGconn *conn);
PGconn *__wrap_PQconnectStart(const char *conninfo);
PGconn *__wrap_PQconnectStartParams(const char *const *names, const char *const *values,
                                    int expand);
int __wrap_PQsendQuery(PGconn *conn, const char *sql);
int __wrap_PQsendQueryParams(PGconn *conn, const char *sql, int count, const Oid *types,
                             const char *const *values, const int *lengths, const int *formats,
                             int result_format);
int __wrap_PQsendPrepare(PGconn *conn, const char *name, const char *sql, int count,
                         const Oid *types);
int __wrap_PQsendQueryPrepared(PGconn *conn, const char *name, int count, const char *const *values,
                               const int *lengths, const int *formats, int result_format);
int __wrap_PQpipelineSync(PGconn *conn);
int __wrap_PQflush(PGconn *conn);
int __wrap_PQconsumeInput(PGconn *conn);
PGresult *__wrap_PQgetResult(PGconn *conn);

static atomic_int last_backend, last_socket; /* of any thread */

bool failing_cut_last(int backend)
{
    return atomic_load(&last_backend) == backend &&
           shutdown(atomic_load(&last_socket), SHUT_RDWR) == 0;
}

/* Whether the call is to answer a failure without being made. */
static bool failing_postgres_refused(PGconn *conn, const char *where)
{
    /* These two fail only with their connection. */
    bool only_cut = strcmp(where, "PQflush") == 0 || strcmp(where, "PQconsumeInput") == 0;

    atomic_store(&last_backend, PQbackendPID(conn));
    atomic_store(&last_socket, PQsocket(conn));
    if (only_cut && failing_how() != FAILING_CUTS)
        return false;
    if (!failing_now(FAILING_SQL, where))
        return false;
    if (failing_how() != FAILING_CUTS)
        return true;
    failing_note_cut(PQbackendPID(conn));
    if (PQsocket(conn) >= 0)
        shutdown(PQsocket(conn), SHUT_RDWR);
    return false;
}

PGconn *__wrap_PQconnectStart(const char *conninfo)
{
    return failing_now(FAILING_SQL, "PQconnectStart") ? NULL : __real_PQconnectStart(conninfo);
}

PGconn *__wrap_PQconnectStartParams(const char *const *names, const char *const *values, int expand)
{
    return failing_now(FAILING_SQL, "PQconnectStartParams")
               ? NULL
               : __real_PQconnectStartParams(names, values, expand);
}

int __wrap_PQsendQuery(PGconn *conn, const char *sql)
{
    return failing_postgres_refused(conn, "PQsendQuery") ? 0 : __real_PQsendQuery(conn, sql);
}

int __wrap_PQsendQueryParams(PGconn *conn, const char *sql, int count, const Oid *types,
                             const char *const *values, const int *lengths, const int *formats,
                             int result_format)
{
    return failing_postgres_refused(conn, "PQsendQueryParams")
               ? 0
               : __real_PQsendQueryParams(conn, sql, count, types, values, lengths, formats,
                                          result_format);
}

int __wrap_PQsendPrepare(PGconn *conn, const char *name, const char *sql, int count,
                         const Oid *types)
{
    return failing_postgres_refused(conn, "PQsendPrepare")
               ? 0
               : __real_PQsendPrepare(conn, name, sql, count, types);
}

int __wrap_PQsendQueryPrepared(PGconn *conn, const char *name, int count, const char *const *values,
                               const int *lengths, const int *formats, int result_format)
{
    return failing_postgres_refused(conn, "PQsendQueryPrepared")
               ? 0
               : __real_PQsendQueryPrepared(conn, name, count, values, lengths, formats,
                                            result_format);
}

int __wrap_PQpipelineSync(PGconn *conn)
{
    return failing_postgres_refused(conn, "PQpipelineSync") ? 0 : __real_PQpipelineSync(conn);
}

int __wrap_PQflush(PGconn *conn)
{
    return failing_postgres_refused(conn, "PQflush") ? -1 : __real_PQflush(conn);
}

int __wrap_PQconsumeInput(PGconn *conn)
{
    return failing_postgres_refused(conn, "PQconsumeInput") ? 0 : __real_PQconsumeInput(conn);
}

/* As libpq does when it has no memory for a result: the result is lost, an error without a state
 * stands in its place. */
PGresult *__wrap_PQgetResult(PGconn *conn)
{
    PGresult *lost;

    if (!failing_postgres_refused(conn, "PQgetResult"))
        return __real_PQgetResult(conn);
    lost = __real_PQgetResult(conn);
    if (!lost || PQresultStatus(lost) == PGRES_PIPELINE_SYNC)
        return lost;
    PQclear(lost);
    return PQmakeEmptyPGresult(conn, PGRES_FATAL_ERROR);
}
#endif

/* src/core/schema_roles.c - the roles of a PostgreSQL schema. docs/internals/roles.md */
#include <stdlib.h>
#include <string.h>

#include <pawl/store.h>

#include "fail.h"
#include "scope.h"
#include "store_private.h"

PAWLI_AUTO_DEFINE(pawl_store, pawl_store_close);

static void roles_on_start(void *context)
{
    char **missing = context;

    free(*missing);
    *missing = NULL;
}

static pawl_status roles_on_row(void *context, const pawli_row *row, pawl_error *err)
{
    char **missing = context;

    if (pawli_row_is_null(row, 0))
        return PAWL_OK;
    size_t size;
    const char *names = pawli_row_bytes(row, 0, &size);

    *missing = strndup(names, size);
    if (!*missing)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the names of roles");
    return PAWL_OK;
}

pawl_status pawl_schema_grant(const char *url, const pawl_store_options *opts, char **ret_missing,
                              pawl_error *err)
{
    PAWLI_AUTO(pawl_store) store = NULL;
    PAWLI_AUTO_FREE char *missing = NULL;
    pawli_op op = {
        .sql = PAWLI_SQL_GRANT_ROLES,
        .writes = true,
        .on_row = roles_on_row,
        .on_start = roles_on_start,
        .context = &missing,
    };
    pawl_error problem = PAWL_ERROR_INIT;
    pawl_status st;

    if (!ret_missing)
        return pawli_fail(err, PAWL_E_INVALID, "ret_missing must not be NULL");
    st = pawl_store_open(url, opts, &store, err);
    if (st != PAWL_OK)
        return st;
    if (pawli_db_driver(store->db)->single_writer)
        return pawli_fail(err, PAWL_E_UNSUPPORTED,
                          "SQLite has no roles: the rights on the file decide who may use it");
    st = pawli_db_run(store->db, &op, &problem);
    if (st == PAWL_OK) {
        *ret_missing = missing;
        missing = NULL;
        return PAWL_OK;
    }
    if (st == PAWL_E_DENIED)
        return pawli_fail(err, st,
                          "only the owner of the schema or a superuser may grant rights on it: %s",
                          problem.message);
    if (err)
        *err = problem;
    return st;
}

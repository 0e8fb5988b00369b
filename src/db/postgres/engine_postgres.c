/* src/db/postgres/engine_postgres.c - PostgreSQL among the engines: its name and its URLs. */
#include <string.h>

#include "engine.h"

/* A URL, or a conninfo string. */
static pawl_status postgres_url_target(const char *url, const char **ret_target, pawl_error *err)
{
    (void)err;
    if (strncmp(url, "postgresql://", 13) == 0 || strncmp(url, "postgres://", 11) == 0 ||
        (strchr(url, '=') && !strstr(url, "://")))
        *ret_target = url;
    return PAWL_OK;
}

const pawli_engine pawli_engine_postgres = {
    .name = "postgres",
    .title = "PostgreSQL",
    .url_form = "postgresql://host/name or \"host=... dbname=...\"",
    .default_names = "pawl",
    .reserved_names = "pg_",
    .driver = &pawli_driver_postgres,
    .sql = &pawli_sql_postgres,
    .url_target = postgres_url_target,
};

/* src/db/url.h - parsing a store's URL: the engine, and what its driver connects to. */
#ifndef PAWLI_URL_H
#define PAWLI_URL_H

#include <pawl/error.h>

#include "driver.h"
#include "statements.h"

typedef struct pawli_engine {
    const char *name;
    const pawli_driver *const *driver; /* points to NULL when the engine is not built in */
    const pawli_engine_sql *sql;
    const char *default_names;
} pawli_engine;

/* "sqlite" or "postgres"; NULL if unknown. */
const pawli_engine *pawli_engine_by_name(const char *name);

/*
 * *ret_target is borrowed from `url`. The URL is never repeated in an error message: it may contain
 * a password.
 */
pawl_status pawli_url_parse(const char *url, const pawli_engine **ret_engine,
                            const char **ret_target, pawl_error *err);

/* Schema name or table prefix: 1-40 of a-z, 0-9 and _, not starting with a digit. */
pawl_status pawli_names_check(const char *names, const char *what, pawl_error *err);

#endif

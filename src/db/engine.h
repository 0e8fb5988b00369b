/* src/db/engine.h - the engines that pawl can be built with. CONTRIBUTING.md, "Adding an engine".
 */
#ifndef PAWLI_ENGINE_H
#define PAWLI_ENGINE_H

#include <stdbool.h>

#include <pawl/error.h>
#include <pawl/store.h>

#include "driver.h"
#include "statements.h"

/* Also exists in a library that is built without the engine: src/db/ENGINE/engine_ENGINE.c. */
typedef struct pawli_engine {
    const char *name;           /* "sqlite" */
    const char *title;          /* "SQLite": in error messages */
    const char *url_form;       /* "sqlite:path": in error messages */
    const char *file_scheme;    /* "sqlite:": a database is a file with this and its path as URL, or
                                 * PAWLI_MEMORY; NULL: it is a server's, with schemas and roles */
    const char *default_names;  /* of the schema or, if sql->is_prefix, the table prefix */
    const char *reserved_names; /* neither begins with it */
    const pawli_driver *const *driver; /* points to NULL when the engine is not built in */
    const pawli_engine_sql *sql;
    /* What the driver connects to, borrowed from the URL; PAWL_OK and untouched: the URL is another
     * engine's. */
    pawl_status (*url_target)(const char *url, const char **ret_target, pawl_error *err);
} pawli_engine;

#define PAWLI_ENGINE_DECLARE(engine) extern const pawli_engine pawli_engine_##engine;
PAWLI_ENGINES(PAWLI_ENGINE_DECLARE)

#define PAWLI_MEMORY ":memory:" /* the target that is a database in memory, without a file */

/* All that pawl knows, in the order of meson.build. NULL after the last. */
const pawli_engine *pawli_engine_at(size_t index);
/* PAWL_E_INVALID with the list of them if it is NULL or unknown. */
pawl_status pawli_engine_find(const char *name, const pawli_engine **ret_engine, pawl_error *err);

/* The schema or table prefix, checked. Borrowed. */
pawl_status pawli_engine_names(const pawli_engine *engine, const pawl_store_options *opts,
                               const char **ret_names, pawl_error *err);
/* Schema name or table prefix: 1-40 of a-z, 0-9 and _, not starting with a digit. */
pawl_status pawli_names_check(const char *names, const char *what, pawl_error *err);

/*
 * PAWL_E_UNSUPPORTED: *ret_engine is set, but not built in. *ret_target is borrowed from `url`. The
 * URL is never repeated in an error message: it may contain a password.
 */
pawl_status pawli_url_parse(const char *url, const pawli_engine **ret_engine,
                            const char **ret_target, pawl_error *err);

#endif

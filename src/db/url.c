/* src/db/url.c - parses a store's URL: the engine, and what its driver connects to. */
#include "url.h"

#include <string.h>

#include "fail.h"
#include "scope.h"

#define NAMES_MAX 40

static const pawli_engine engines[] = {
    {"sqlite", &pawli_driver_sqlite, &pawli_sql_sqlite, "pawl_"},
    {"postgres", &pawli_driver_postgres, &pawli_sql_postgres, "pawl"},
};

const pawli_engine *pawli_engine_by_name(const char *name)
{
    for (size_t i = 0; name && i < PAWLI_COUNT(engines); i++)
        if (strcmp(engines[i].name, name) == 0)
            return &engines[i];
    return NULL;
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

pawl_status pawli_url_parse(const char *url, const pawli_engine **ret_engine,
                            const char **ret_target, pawl_error *err)
{
    const pawli_engine *engine = NULL;
    const char *target = url;

    if (!url || !*url)
        return pawli_fail(err, PAWL_E_INVALID,
                          "the database URL is missing: use sqlite:path or postgresql://host/name");
    if (starts_with(url, "sqlite:")) {
        engine = pawli_engine_by_name("sqlite");
        target = url + strlen("sqlite:");
        if (starts_with(target, "///")) /* sqlite:///absolute/path, as other programs write it */
            target += 2;
        if (!*target)
            return pawli_fail(err, PAWL_E_INVALID,
                              "the database URL names no file: use sqlite:path or sqlite::memory:");
    } else if (starts_with(url, "postgresql://") || starts_with(url, "postgres://") ||
               (strchr(url, '=') && !strstr(url, "://"))) {
        engine = pawli_engine_by_name("postgres");
    } else {
        return pawli_fail(err, PAWL_E_INVALID,
                          "the database URL is of no known kind: use sqlite:path, "
                          "postgresql://host/name or \"host=... dbname=...\"");
    }
    if (!*engine->driver)
        return pawli_fail(err, PAWL_E_UNSUPPORTED, "this libpawl was built without %s",
                          engine->name);
    *ret_engine = engine;
    *ret_target = target;
    return PAWL_OK;
}

pawl_status pawli_names_check(const char *names, const char *what, pawl_error *err)
{
    size_t length = strlen(names);
    bool good = length >= 1 && length <= NAMES_MAX && (names[0] < '0' || names[0] > '9');

    for (size_t i = 0; i < length && good; i++)
        good = (names[i] >= 'a' && names[i] <= 'z') || (names[i] >= '0' && names[i] <= '9') ||
               names[i] == '_';
    if (!good)
        return pawli_fail(err, PAWL_E_INVALID,
                          "the %s must be 1 to %d of a-z, 0-9 and _, and not start with a digit",
                          what, NAMES_MAX);
    if (starts_with(names, "pg_") || starts_with(names, "sqlite_"))
        return pawli_fail(err, PAWL_E_INVALID, "the %s must not start with pg_ or sqlite_", what);
    return PAWL_OK;
}

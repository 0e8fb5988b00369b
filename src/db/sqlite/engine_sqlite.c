/* src/db/sqlite/engine_sqlite.c - SQLite among the engines: its name and its URLs. */
#include <string.h>

#include "engine.h"
#include "fail.h"

static pawl_status sqlite_url_target(const char *url, const char **ret_target, pawl_error *err)
{
    static const char scheme[] = "sqlite:";
    const char *target = url + sizeof scheme - 1;

    if (strncmp(url, scheme, sizeof scheme - 1) != 0)
        return PAWL_OK;
    if (strncmp(target, "///", 3) == 0) /* sqlite:///absolute/path, as other programs write it */
        target += 2;
    if (!*target)
        return pawli_fail(err, PAWL_E_INVALID,
                          "the database URL names no file: use sqlite:path or sqlite::memory:");
    *ret_target = target;
    return PAWL_OK;
}

const pawli_engine pawli_engine_sqlite = {
    .name = "sqlite",
    .title = "SQLite",
    .url_form = "sqlite:path",
    .file_scheme = "sqlite:",
    .default_names = "pawl_",
    .reserved_names = "sqlite_",
    .driver = &pawli_driver_sqlite,
    .sql = &pawli_sql_sqlite,
    .url_target = sqlite_url_target,
};

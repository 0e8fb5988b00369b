/* src/db/engine.c - the table of engines: by name, by URL, and what they call pawl's tables. */
#include "engine.h"

#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "scope.h"

#define NAMES_MAX 40
#define LIST_SIZE 256

#define ENGINE_ADDRESS(name) &pawli_engine_##name,

static const pawli_engine *const engines[] = {PAWLI_ENGINES(ENGINE_ADDRESS)};

const pawli_engine *pawli_engine_at(size_t index)
{
    return index < PAWLI_COUNT(engines) ? engines[index] : NULL;
}

/* "sqlite or postgres" */
static const char *engine_list(char text[LIST_SIZE], bool urls)
{
    size_t length = 0;

    text[0] = '\0';
    for (size_t i = 0; i < PAWLI_COUNT(engines) && length < LIST_SIZE; i++)
        length += (size_t)snprintf(text + length, LIST_SIZE - length, "%s%s", i > 0 ? " or " : "",
                                   urls ? engines[i]->url_form : engines[i]->name);
    return text;
}

pawl_status pawli_engine_find(const char *name, const pawli_engine **ret_engine, pawl_error *err)
{
    char list[LIST_SIZE];

    for (size_t i = 0; name && i < PAWLI_COUNT(engines); i++) {
        if (strcmp(engines[i]->name, name) == 0) {
            *ret_engine = engines[i];
            return PAWL_OK;
        }
    }
    return pawli_fail(err, PAWL_E_INVALID, "the engine must be %s", engine_list(list, false));
}

pawl_status pawli_url_parse(const char *url, const pawli_engine **ret_engine,
                            const char **ret_target, pawl_error *err)
{
    const char *target = NULL;
    char list[LIST_SIZE];

    if (!url || !*url)
        return pawli_fail(err, PAWL_E_INVALID, "the database URL is missing: use %s",
                          engine_list(list, true));
    for (size_t i = 0; i < PAWLI_COUNT(engines); i++) {
        pawl_status st = engines[i]->url_target(url, &target, err);
        if (st != PAWL_OK)
            return st;
        if (!target)
            continue;
        *ret_engine = engines[i];
        if (!*engines[i]->driver)
            return pawli_fail(err, PAWL_E_UNSUPPORTED,
                              "this libpawl was built without %s: use a build with it, or another "
                              "database",
                              engines[i]->title);
        *ret_target = target;
        return PAWL_OK;
    }
    return pawli_fail(err, PAWL_E_INVALID, "the database URL is of no known kind: use %s",
                      engine_list(list, true));
}

/* ---- the names of pawl's tables ---- */

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
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
    for (size_t i = 0; i < PAWLI_COUNT(engines); i++)
        if (begins_with(names, engines[i]->reserved_names))
            return pawli_fail(err, PAWL_E_INVALID, "the %s must not start with %s", what,
                              engines[i]->reserved_names);
    return PAWL_OK;
}

pawl_status pawli_engine_names(const pawli_engine *engine, const pawl_store_options *opts,
                               const char **ret_names, pawl_error *err)
{
    bool prefix = engine->sql->is_prefix != 0;
    const char *names = prefix ? opts->table_prefix : opts->schema;

    if (!names)
        names = engine->default_names;
    pawl_status st = pawli_names_check(names, prefix ? "table prefix" : "schema name", err);
    if (st == PAWL_OK)
        *ret_names = names;
    return st;
}

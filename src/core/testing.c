/* src/core/testing.c - a temporary store for an application's own tests. */
#include <pawl/testing.h>

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buffer.h"
#include "fail.h"
#include "log.h"
#include "options.h"
#include "scope.h"
#include "store_private.h"
#include "uuid.h"

#define SCHEMA_SIZE 41
/* For removing the schema, whatever timeout the test uses for its store. */
#define REMOVE_TIMEOUT_MS 30000
#define ADVANCE_MAX_MS (INT64_C(100) * 366 * 24 * 3600 * 1000)

struct pawl_testing {
    pid_t pid;
    char *url;
    char *directory;          /* NULL: in memory, or on a server */
    char schema[SCHEMA_SIZE]; /* "main": not on a server */
    bool has_schema;          /* there may be a schema to drop */
    bool virtual_clock;
    pawl_store_options
        options; /* the strings belong to the caller and are used only by pawl_testing_new() */
    pawl_store *store;
};

PAWLI_AUTO_DEFINE(pawl_testing, pawl_testing_free);

static pawl_status testing_no_memory(pawl_error *err)
{
    return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a temporary store");
}

/* ---- location ---- */

static pawl_status make_directory(pawl_testing *testing, const pawli_engine *engine,
                                  pawl_error *err)
{
    const char *parent = getenv("TMPDIR");
    PAWLI_AUTO_BUFFER path = {0};
    PAWLI_AUTO_BUFFER url = {0};

    if (!parent || parent[0] != '/')
        parent = "/tmp";
    pawli_buffer_format(&path, "%s/pawl-test-XXXXXX", parent);
    PAWLI_AUTO_FREE char *directory = pawli_buffer_take(&path);
    if (!directory)
        return testing_no_memory(err);
    if (!mkdtemp(directory))
        return pawli_fail_code(
            err, PAWL_E_IO, errno,
            "cannot create a directory in '%s' (%s): set TMPDIR to a writable directory", parent,
            strerror(errno));
    testing->directory = directory; /* from now on it is removed with the rest */
    directory = NULL;
    pawli_buffer_format(&url, "%s%s/test.db", engine->file_scheme, testing->directory);
    testing->url = pawli_buffer_take(&url);
    return testing->url ? PAWL_OK : testing_no_memory(err);
}

/* The name is unique: a time and 64 random bits. */
static void name_schema(pawl_testing *testing)
{
    uint8_t bytes[16];
    char text[37];

    pawli_uuid_new(bytes);
    pawli_uuid_format(bytes, text);
    /* 8-4-4-4-12: the time, then the last two groups without their hyphens */
    snprintf(testing->schema, sizeof testing->schema, "pawl_test_%.8s%.4s_%.4s%.12s", text,
             text + 9, text + 19, text + 24);
}

/* The engine of temporary stores without a URL: the first whose databases are files. */
static pawl_status find_file_engine(const pawli_engine **ret_engine, pawl_error *err)
{
    PAWLI_AUTO_BUFFER text = {0};
    const pawli_engine *engine = pawli_engine_at(0);
    const char *target;

    for (size_t i = 1; engine && !engine->file_scheme; i++)
        engine = pawli_engine_at(i);
    if (!engine)
        return pawli_fail(err, PAWL_E_UNSUPPORTED, "no engine has files: pass a URL");
    pawli_buffer_format(&text, "%s" PAWLI_MEMORY, engine->file_scheme);
    PAWLI_AUTO_FREE char *url = pawli_buffer_take(&text);
    return url ? pawli_url_parse(url, ret_engine, &target, err) : testing_no_memory(err);
}

static pawl_status choose_place(pawl_testing *testing, const char *url, pawl_error *err)
{
    const pawli_engine *engine = NULL;
    const char *target = PAWLI_MEMORY;
    pawl_status st =
        url ? pawli_url_parse(url, &engine, &target, err) : find_file_engine(&engine, err);

    if (st != PAWL_OK)
        return st;
    assert(engine);
    if (engine->file_scheme && strcmp(target, PAWLI_MEMORY) != 0)
        return pawli_fail(err, PAWL_E_INVALID,
                          "a temporary %s store creates its own file: pass no URL, or %s%s",
                          engine->title, engine->file_scheme, PAWLI_MEMORY);
    snprintf(testing->schema, sizeof testing->schema, "main");
    if (!url)
        return make_directory(testing, engine, err);
    if (!engine->file_scheme)
        name_schema(testing);
    testing->url = strdup(url);
    return testing->url ? PAWL_OK : testing_no_memory(err);
}

/* ---- the schema on a server ---- */

static bool is_file(const pawl_testing *testing)
{
    return strcmp(testing->schema, "main") == 0;
}

/* Uses its own connection, before the store is opened or after it was closed. */
static pawl_status testing_run_alone(const char *url, const char *schema, int64_t timeout_ms,
                                     const char *name, pawl_error *err)
{
    PAWLI_AUTO(pawli_db) db = NULL;
    pawl_store_options options = PAWL_STORE_OPTIONS_INIT;
    pawl_status st;

    options.schema = schema;
    options.timeout_ms = timeout_ms;
    st = pawli_db_new(url, &options, &db, err);
    return st == PAWL_OK ? pawli_db_testing(db, name, 0, NULL, err) : st;
}

/* The same commit registers the schema for the sweep, so that a killed test leaves no
 * unregistered one. */
static pawl_status make_schema(pawl_testing *testing, pawl_error *err)
{
    pawl_status st;

    if (is_file(testing))
        return PAWL_OK;
    st =
        testing_run_alone(testing->url, testing->schema, testing->options.timeout_ms, "begin", err);
    testing->has_schema = st == PAWL_OK || st == PAWL_E_IN_DOUBT;
    return st;
}

/* ---- creating and freeing ---- */

static pawl_status testing_read_options(pawl_testing *testing, const pawl_testing_options *given,
                                        pawl_error *err)
{
    const pawl_store_options defaults = PAWL_STORE_OPTIONS_INIT;
    pawl_testing_options options = PAWL_TESTING_OPTIONS_INIT;
    pawl_status st = pawli_options_copy(&options, sizeof options, given, err);

    if (st != PAWL_OK)
        return st;
    testing->virtual_clock = options.virtual_clock;
    testing->options = defaults;
    testing->options.durability = PAWL_DURABILITY_NORMAL;
    return pawli_options_copy(&testing->options, sizeof testing->options, options.store, err);
}

static pawl_status open_store(pawl_testing *testing, pawl_error *err)
{
    pawl_status st;

    testing->options.schema = is_file(testing) ? NULL : testing->schema;
    testing->options.deploy_schema = true;
    st = pawl_store_open(testing->url, &testing->options, &testing->store, err);
    testing->options.schema = testing->options.table_prefix = NULL;
    if (st == PAWL_OK && testing->virtual_clock)
        st = pawli_db_testing(testing->store->db, "virtual_clock", 0, NULL, err);
    return st;
}

pawl_status pawl_testing_new(const char *url, const pawl_testing_options *opts,
                             pawl_testing **ret_testing, pawl_error *err)
{
    PAWLI_AUTO(pawl_testing) testing = NULL;
    pawl_status st;

    if (!ret_testing)
        return pawli_fail(err, PAWL_E_INVALID, "ret_testing must not be NULL");
    testing = calloc(1, sizeof *testing);
    if (!testing)
        return testing_no_memory(err);
    testing->pid = getpid();
    st = testing_read_options(testing, opts, err);
    if (st == PAWL_OK)
        st = choose_place(testing, url, err);
    if (st == PAWL_OK)
        st = make_schema(testing, err);
    if (st == PAWL_OK)
        st = open_store(testing, err);
    if (st == PAWL_OK)
        *ret_testing = pawl_testing_take(&testing);
    return st;
}

/* Removes files only: pawl creates no subdirectories, and anything else is not pawl's. */
static void remove_directory(const pawl_testing *testing)
{
    DIR *directory = opendir(testing->directory);
    struct dirent *entry;

    while (directory && (entry = readdir(directory)) != NULL)
        (void)unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory)
        closedir(directory);
    if (rmdir(testing->directory) != 0)
        pawli_log(&testing->options.log, PAWL_LOG_WARNING, "testing",
                  "the directory '{directory}' of a temporary store was not removed: {error}",
                  pawli_logged("directory", testing->directory),
                  pawli_logged("error", strerror(errno)));
}

static void remove_schema(const pawl_testing *testing)
{
    pawl_error err = PAWL_ERROR_INIT;

    if (testing_run_alone(testing->url, testing->schema, REMOVE_TIMEOUT_MS, "end", &err) != PAWL_OK)
        pawli_log(
            &testing->options.log, PAWL_LOG_WARNING, "testing",
            "the schema {schema} of a temporary store was not dropped, pawl_testing_sweep() will "
            "drop it: {error}",
            pawli_logged("schema", testing->schema), pawli_logged("error", err.message));
}

void pawl_testing_free(pawl_testing *testing)
{
    if (!testing || testing->pid != getpid())
        return;
    pawl_store_close(testing->store);
    if (testing->directory)
        remove_directory(testing);
    if (testing->has_schema)
        remove_schema(testing);
    free(testing->directory);
    free(testing->url);
    free(testing);
}

pawl_store *pawl_testing_store(const pawl_testing *testing)
{
    return testing->store;
}

const char *pawl_testing_url(const pawl_testing *testing)
{
    return testing->url;
}

const char *pawl_testing_schema(const pawl_testing *testing)
{
    return testing->schema;
}

/* ---- the clock ---- */

static pawl_status move_clock(pawl_testing *testing, const char *how, int64_t us, pawl_error *err)
{
    pawl_status st = pawli_db_testing(testing->store->db, how, us, NULL, err);

    if (st != PAWL_OK)
        return st;
    pawli_store_changed(testing->store);
    pawli_wake_signal(pawli_db_wake(testing->store->db)); /* messages may be due now */
    return PAWL_OK;
}

static pawl_status testing_check_clock(const pawl_testing *testing, pawl_error *err)
{
    if (!testing)
        return pawli_fail(err, PAWL_E_INVALID, "testing must not be NULL");
    if (!testing->virtual_clock)
        return pawli_fail(err, PAWL_E_MISUSE,
                          "the store uses the database's own clock: set virtual_clock");
    return PAWL_OK;
}

pawl_status pawl_testing_set(pawl_testing *testing, pawl_wall now, pawl_error *err)
{
    pawl_wall before;
    pawl_status st = testing_check_clock(testing, err);

    if (st == PAWL_OK)
        st = pawl_store_now(testing->store, &before, err);
    if (st != PAWL_OK)
        return st;
    if (now.us < before.us || now.us - before.us > ADVANCE_MAX_MS * 1000)
        return pawli_fail(err, PAWL_E_INVALID,
                          "a store's clock only moves forward, by at most 100 years");
    return move_clock(testing, "set_clock", now.us, err);
}

pawl_status pawl_testing_advance(pawl_testing *testing, int64_t ms, pawl_error *err)
{
    pawl_status st = testing_check_clock(testing, err);

    if (st != PAWL_OK)
        return st;
    if (ms < 0 || ms > ADVANCE_MAX_MS)
        return pawli_fail(err, PAWL_E_INVALID,
                          "a store's clock only moves forward, by at most 100 years");
    return move_clock(testing, "advance_clock", ms * 1000, err);
}

/* ---- sweeping what killed tests left behind ---- */

/* *ret_schema belongs to the caller; NULL if there is none. */
static pawl_status oldest_schema(const char *url, int64_t older_ms, char **ret_schema,
                                 pawl_error *err)
{
    PAWLI_AUTO(pawli_db) db = NULL;
    const pawl_store_options options = PAWL_STORE_OPTIONS_INIT;
    pawl_status st = pawli_db_new(url, &options, &db, err);

    if (st == PAWL_OK && pawli_db_engine(db)->file_scheme)
        return pawli_fail(err, PAWL_E_UNSUPPORTED,
                          "%s has no schemas to sweep: its temporary stores are files in TMPDIR",
                          pawli_db_engine(db)->title);
    return st == PAWL_OK ? pawli_db_testing(db, "oldest", older_ms * 1000, ret_schema, err) : st;
}

pawl_status pawl_testing_sweep(const char *url, int64_t older_ms, size_t *ret_removed,
                               pawl_error *err)
{
    size_t removed = 0;
    pawl_status st = PAWL_OK;
    bool more = true;

    if (older_ms < 0 || older_ms > ADVANCE_MAX_MS)
        return pawli_fail(err, PAWL_E_INVALID, "older_ms must be 0 ms to 100 years");
    while (st == PAWL_OK && more) {
        PAWLI_AUTO_FREE char *schema = NULL;
        st = oldest_schema(url, older_ms, &schema, err);
        more = schema != NULL;
        if (st == PAWL_OK && more)
            st = testing_run_alone(url, schema, REMOVE_TIMEOUT_MS, "end", err);
        removed += st == PAWL_OK && more;
    }
    if (ret_removed)
        *ret_removed = removed;
    return st;
}

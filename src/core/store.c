/* src/core/store.c - opens and deploys stores, grants roles, resets the store's clock. */
#include <pawl/store.h>
#include <pawl_private/delivery_store.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "fail.h"
#include "inbox_private.h"
#include "log.h"
#include "options.h"
#include "platform.h"
#include "scope.h"
#include "store_private.h"

/* ---- opening and deploying ---- */

#define INBOX_MAX_MS ((int64_t)3650 * 24 * 3600 * 1000)

PAWLI_AUTO_DEFINE(pawl_store, pawl_store_close);

static pawl_status check_backoff(const pawl_backoff *policy, const char *what, pawl_error *err)
{
    if (policy->base_ms < 1 || policy->max_ms < policy->base_ms ||
        policy->jitter_ms < PAWL_JITTER_TENTH)
        return pawli_fail(err, PAWL_E_INVALID,
                          "%s needs base_ms > 0, max_ms >= base_ms and jitter_ms >= 0", what);
    return PAWL_OK;
}

static pawl_status store_read_options(const pawl_store_options *given, pawl_store_options *options,
                                      pawl_error *err)
{
    pawl_status st = pawli_options_copy(options, sizeof *options, given, err);

    if (st == PAWL_OK)
        st = check_backoff(&options->backoff_local, "backoff_local", err);
    if (st == PAWL_OK)
        st = check_backoff(&options->backoff_remote, "backoff_remote", err);
    if (st == PAWL_OK && (options->inbox_keep_ms < 1 || options->inbox_keep_ms > INBOX_MAX_MS ||
                          options->inbox_retry_window_ms < 0))
        st = pawli_fail(err, PAWL_E_INVALID,
                        "inbox_keep_ms must be 1 ms to 10 years, and inbox_retry_window_ms must "
                        "not be negative");
    return st;
}

/*
 * The library works with another release's functions (docs/internals/migrations.md), so a user
 * without the right to replace them can continue.
 */
static pawl_status store_deploy(pawl_store *store, pawl_error *err)
{
    pawl_error problem = PAWL_ERROR_INIT;
    pawl_schema_info info = {0};
    pawl_status st = pawli_db_deploy(store->db, &info, &problem);

    if (st == PAWL_E_DENIED && pawli_db_schema(store->db, &info, NULL) == PAWL_OK &&
        info.version >= info.library_version && info.code_outdated) {
        pawli_log(&store->log, PAWL_LOG_WARNING, "store",
                  "the database has the functions and views of an older release and this user may "
                  "not replace them: run `pawl migrate` as the owner of the schema ({error})",
                  pawli_logged("store", pawl_store_engine(store)),
                  pawli_logged("error", problem.message));
        return PAWL_OK;
    }
    if (st != PAWL_OK && err)
        *err = problem;
    return st;
}

pawl_status pawl_store_open(const char *url, const pawl_store_options *opts, pawl_store **ret_store,
                            pawl_error *err)
{
    PAWLI_AUTO(pawl_store) store = NULL;
    pawl_store_options options = PAWL_STORE_OPTIONS_INIT;
    pawl_schema_info info = {0};
    pawl_status st;

    if (!ret_store)
        return pawli_fail(err, PAWL_E_INVALID, "ret_store must not be NULL");
    st = store_read_options(opts, &options, err);
    if (st != PAWL_OK)
        return st;
    store = calloc(1, sizeof *store);
    if (!store)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the store");
    pthread_mutex_init(&store->stats_lock, NULL);
    pawli_wake_init(&store->job_wake);
    store->log = options.log;
    store->backoff_local = options.backoff_local;
    store->backoff_remote = options.backoff_remote;
    store->timeout_ms = options.timeout_ms;
    store->inbox_keep_ms = options.inbox_keep_ms;
    store->inbox_retry_window_ms = options.inbox_retry_window_ms;
    store->inbox_holder = pawli_random_u64();
    st = pawli_db_new(url, &options, &store->db, err);
    if (st == PAWL_OK && options.deploy_schema)
        st = store_deploy(store, err);
    if (st == PAWL_OK)
        st = pawli_db_schema(store->db, &info, err);
    if (st == PAWL_OK)
        st = pawli_db_check_schema(&info, err);
    if (st != PAWL_OK)
        return st;
    pawli_inbox_warn_keep(store, store->inbox_keep_ms);
    *ret_store = pawl_store_take(&store);
    return PAWL_OK;
}

void pawl_store_close(pawl_store *store)
{
    if (!store)
        return;
    pawl_outbox_stats_free(store->stats);
    pthread_mutex_destroy(&store->stats_lock);
    pawli_wake_done(&store->job_wake);
    pawli_db_free(store->db);
    free(store);
}

const char *pawl_store_engine(const pawl_store *store)
{
    return pawli_db_driver(store->db)->name;
}

int64_t pawl_store_inbox_keep_ms(const pawl_store *store)
{
    return store->inbox_keep_ms;
}

const char *pawl_engine_of_url(const char *url)
{
    const pawli_engine *engine = NULL;
    const char *target;

    (void)pawli_url_parse(url, &engine, &target, NULL);
    return engine ? engine->name : NULL;
}

const char *pawl_engine_built_in(size_t index)
{
    const pawli_engine *engine;

    for (size_t i = 0, found = 0; (engine = pawli_engine_at(i)) != NULL; i++)
        if (*engine->driver && found++ == index)
            return engine->name;
    return NULL;
}

static pawl_status read_now(void *context, const pawli_row *row, pawl_error *err)
{
    (void)err;
    *(pawl_wall *)context = pawli_row_time(row, 0);
    return PAWL_OK;
}

pawl_status pawl_store_now(pawl_store *store, pawl_wall *ret_now, pawl_error *err)
{
    pawl_wall now = PAWL_TIME_UNSET;
    pawli_op op = {.sql = PAWLI_SQL_NOW, .on_row = read_now, .context = &now};

    if (!store || !ret_now)
        return pawli_fail(err, PAWL_E_INVALID, "store and ret_now must not be NULL");
    pawl_status st = pawli_db_run(store->db, &op, err);
    if (st == PAWL_OK)
        *ret_now = now;
    return st;
}

void pawl_store_interrupt(pawl_store *store)
{
    if (store)
        pawli_db_interrupt(store->db);
}

void pawli_store_changed(pawl_store *store)
{
    pthread_mutex_lock(&store->stats_lock);
    pawl_outbox_stats *stale = store->stats;
    store->stats = NULL;
    pthread_mutex_unlock(&store->stats_lock);
    pawl_outbox_stats_free(stale);
}

pawl_status pawli_store_write(pawl_store *store, const pawli_op *op, pawl_error *err)
{
    pawl_status st = pawli_db_run(store->db, op, err);

    pawli_store_changed(store);
    return st;
}

pawl_status pawli_store_scan(pawl_store *store, const pawli_op *ops,
                             bool (*found_nothing)(const void *context), pawl_error *err)
{
    pawl_status st = pawli_db_scan(store->db, ops, found_nothing, err);

    pawli_store_changed(store);
    return st;
}

pawl_status pawl_schema_inspect(const char *url, const pawl_store_options *opts,
                                pawl_schema_info *ret_info, pawl_error *err)
{
    PAWLI_AUTO(pawli_db) db = NULL;
    pawl_store_options options = PAWL_STORE_OPTIONS_INIT;
    pawl_schema_info info = PAWL_SCHEMA_INFO_INIT;
    pawl_error problem = PAWL_ERROR_INIT;
    pawl_status st;

    if (!ret_info)
        return pawli_fail(err, PAWL_E_INVALID, "ret_info must not be NULL");
    st = pawli_returned_check(ret_info, err);
    if (st == PAWL_OK)
        st = store_read_options(opts, &options, err);
    options.deploy_schema = false; /* inspecting must not create a file */
    if (st == PAWL_OK)
        st = pawli_db_new(url, &options, &db, err);
    if (st != PAWL_OK)
        return st;
    st = pawli_db_schema(db, &info, &problem);
    /* A file that is not there has no schema yet; a server's database that is not there is
     * something else, and not for pawl to create. */
    if (st == PAWL_E_NOT_FOUND && pawli_db_engine(db)->file_scheme) {
        info = (pawl_schema_info){.library_version = pawli_db_library_version(db),
                                  .code_outdated = true};
        st = PAWL_OK;
    }
    if (st == PAWL_OK)
        pawli_returned_copy(ret_info, &info, sizeof info);
    else if (err)
        *err = problem;
    return st;
}

pawl_status pawl_schema_deploy(const char *url, const pawl_store_options *opts,
                               pawl_schema_info *ret_info, pawl_error *err)
{
    PAWLI_AUTO(pawli_db) db = NULL;
    pawl_store_options options = PAWL_STORE_OPTIONS_INIT;
    pawl_schema_info before = PAWL_SCHEMA_INFO_INIT;
    pawl_status st = store_read_options(opts, &options, err);

    options.deploy_schema = true;
    if (st == PAWL_OK)
        st = pawli_returned_check(ret_info, err);
    if (st == PAWL_OK)
        st = pawli_db_new(url, &options, &db, err);
    if (st == PAWL_OK)
        st = pawli_db_deploy(db, &before, err);
    if (st == PAWL_OK)
        pawli_returned_copy(ret_info, &before, sizeof before);
    return st;
}

/* If memory runs out, the buffer's failed flag is set. */
static void append_script(pawli_buffer *text, const pawli_engine_sql *sql, const char *script,
                          const char *names)
{
    PAWLI_AUTO_FREE char *filled = pawli_sql_fill_names(sql, script, names);

    if (filled)
        pawli_buffer_text(text, filled);
    else
        text->failed = true;
}

pawl_status pawl_schema_sql(const char *engine_name, int from_version,
                            const pawl_store_options *opts, char **ret_sql, pawl_error *err)
{
    PAWLI_AUTO_BUFFER text = {0};
    pawl_store_options options = PAWL_STORE_OPTIONS_INIT;
    const pawli_engine *engine;
    const char *names;
    pawl_status st;

    if (!ret_sql || from_version < 0)
        return pawli_fail(err, PAWL_E_INVALID,
                          "ret_sql must not be NULL, and from_version must not be negative");
    st = pawli_engine_find(engine_name, &engine, err);
    if (st == PAWL_OK)
        st = store_read_options(opts, &options, err);
    if (st == PAWL_OK)
        st = pawli_engine_names(engine, &options, &names, err);
    if (st != PAWL_OK)
        return st;
    pawli_buffer_text(&text, "BEGIN;\n\n");
    for (size_t i = 0; i < engine->sql->migration_count; i++) {
        const pawli_migration *migration = &engine->sql->migrations[i];
        if (migration->version > from_version)
            append_script(&text, engine->sql, migration->text, names);
    }
    if (from_version <= (int)engine->sql->migration_count)
        append_script(&text, engine->sql, engine->sql->code, names);
    pawli_buffer_text(&text, "\nCOMMIT;\n");
    char *sql = pawli_buffer_take(&text);
    if (!sql)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the schema script");
    *ret_sql = sql;
    return PAWL_OK;
}

/* ---- setting a store's clock back after the machine's clock was ahead ---- */

static void clock_reset_on_start(void *context)
{
    *(pawl_clock_reset *)context = (pawl_clock_reset){0};
}

static pawl_status clock_reset_on_row(void *context, const pawli_row *row, pawl_error *err)
{
    pawl_clock_reset *reset = context;

    (void)err;
    if (pawli_row_int(row, 0) != 0) {
        reset->done = true;
        return PAWL_OK;
    }
    reset->ahead_ms = pawli_row_int(row, 1) / 1000;
    reset->owned = pawli_row_int(row, 2);
    return PAWL_OK;
}

pawl_status pawl_store_reset_clock(pawl_store *store, bool force, bool dry_run,
                                   pawl_clock_reset *ret_reset, pawl_error *err)
{
    pawl_clock_reset reset = {0};
    pawli_param params[] = {{"force", pawli_bool(force)}, {"dry_run", pawli_bool(dry_run)}};
    pawli_op op = {
        .sql = PAWLI_SQL_CLOCK_RESET,
        .writes = true,
        .params = params,
        .param_count = PAWLI_COUNT(params),
        .on_row = clock_reset_on_row,
        .on_start = clock_reset_on_start,
        .context = &reset,
    };

    if (!store)
        return pawli_fail(err, PAWL_E_INVALID, "the store must not be NULL");
    pawl_status st = pawli_returned_check(ret_reset, err);
    if (st == PAWL_OK)
        st = pawli_store_write(store, &op, err);
    if (st != PAWL_OK)
        return st;
    if (!reset.done && !dry_run && reset.ahead_ms > 1000)
        return pawli_fail(err, PAWL_E_HELD,
                          "%lld messages or leases are owned: stop all workers first, or use force "
                          "to let the leases expire by the new clock",
                          (long long)reset.owned);
    if (reset.done)
        pawli_log(&store->log, PAWL_LOG_WARNING, "store",
                  "the store's clock was set back by {ahead_ms} ms",
                  pawli_logged("store", pawl_store_engine(store)),
                  pawli_logged_number("ahead_ms", reset.ahead_ms));
    pawli_returned_copy(ret_reset, &reset, sizeof reset);
    return PAWL_OK;
}

/* ---- the roles of a schema ---- */

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
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the role names");
    return PAWL_OK;
}

pawl_status pawl_schema_grant(const char *url, const pawl_store_options *opts, char **ret_missing,
                              pawl_error *err)
{
    PAWLI_AUTO(pawl_store) store = NULL;
    PAWLI_AUTO_FREE char *missing = NULL;
    const pawli_engine *engine;
    const char *target;
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
    st = pawli_url_parse(url, &engine, &target, err);
    if (st == PAWL_OK && engine->file_scheme)
        return pawli_fail(err, PAWL_E_UNSUPPORTED,
                          "%s has no roles: file permissions control access", engine->title);
    if (st == PAWL_OK)
        st = pawl_store_open(url, opts, &store, err);
    if (st != PAWL_OK)
        return st;
    assert(store);
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

/* tests/harness/fixture.c - opening and closing: database, schema, clock, stores. */
#include "fixture_private.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

/* A test that tries a short timeout does not mean the making of its tables. */
#define DEPLOY_TIMEOUT_MS 120000

static const char *environment(const char *name, const char *advice)
{
    const char *value = getenv(name);

    if (!value || !*value)
        test_fail("%s is not set; %s", name, advice);
    return value;
}

/* Which database: a new file, or a new schema in the server that the environment names. */
static void choose_database(fixture *f, const fixture_options *opts)
{
    static atomic_int schema_count;
    const char *engine = environment("PAWL_TEST_ENGINE", "set it to sqlite or postgres");

    f->is_postgres = strcmp(engine, "postgres") == 0;
    f->engine = f->is_postgres ? handle_engine_postgres : handle_engine_sqlite;
    if (!f->engine || strcmp(f->engine->name, engine) != 0)
        test_fail("PAWL_TEST_ENGINE=%s is not an engine of this build", engine);
    if (f->is_postgres) {
        f->target = environment("PAWL_TEST_POSTGRES", "run the test under tests/with-postgres");
        if (opts->no_schema || !fixture_spare_take(f))
            f->names = test_note("t_%d_%d", (int)getpid(), atomic_fetch_add(&schema_count, 1));
        if (!getenv("PAWL_TEST_POSTGRES_DIRECT")) /* a pooler's sessions are not the fixture's */
            f->target = test_note("%s application_name=%s", f->target, f->names);
        f->url = f->target;
        f->store_options.schema = f->names;
    } else {
        f->target = test_note("%s/test.db", test_directory());
        f->url = test_note("sqlite:%s", f->target);
        f->names = opts->table_prefix ? opts->table_prefix : "pawl_";
        f->store_options.table_prefix = opts->table_prefix;
    }
}

const char *fixture_read_file(const char *path)
{
    FILE *file = fopen(path, "re");
    char text[65536];
    size_t size;

    if (!file)
        test_fail("cannot read %s: %s", path, strerror(errno));
    size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = '\0';
    return test_note("%s", text);
}

void fixture_deploy(fixture *f)
{
    pawl_store_options options = f->store_options;
    pawl_error err = PAWL_ERROR_INIT;
    const char *path;

    options.timeout_ms = DEPLOY_TIMEOUT_MS;
    assert_ok(pawl_schema_deploy(f->url, &options, NULL, &err), &err);
    if (!f->real_clock) {
        path = test_note("%s/%s/testing/virtual_clock.sql", PAWL_TEST_SQL_DIR, f->engine->name);
        fixture_run(f, fixture_own_handle(f), fixture_fill_names(f, fixture_read_file(path)));
    }
    if (fixture_deployed)
        fixture_deployed(f);
}

static pawl_store *open_store(fixture *f)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store = NULL;

    assert_ok(pawl_store_open(f->url, &f->store_options, &store, &err), &err);
    return store;
}

static void close_stores(fixture *f)
{
    for (int i = 0; i < FIXTURE_STORES; i++) {
        pawl_store_close(f->stores[i]);
        f->stores[i] = NULL;
    }
}

/* Runs after failed tests as well: must cope with a fixture that is half built, and not assert. */
static void destroy(void *argument)
{
    fixture *f = argument;

    for (int i = 0; i < FIXTURE_HANDLES; i++) {
        pawl_tx_free(f->txs[i]);
        if (f->handles[i])
            f->engine->close(f->handles[i]);
    }
    close_stores(f);
    if (f->is_postgres && f->names && !fixture_spare_give(f)) {
        char message[512];

        if (!f->own)
            f->own = f->engine->open(f->target, message);
        if (f->own &&
            !f->engine->run(f->own, test_note("DROP SCHEMA IF EXISTS %s CASCADE", f->names), NULL,
                            message))
            printf("# schema %s stays behind: %s\n", f->names, message);
    }
    if (f->own)
        f->engine->close(f->own);
    free(f->looks);
    log_capture_done(&f->log);
    free(f);
}

fixture *fixture_open(const fixture_options *opts)
{
    const fixture_options defaults = {.store = NULL};
    fixture *f = calloc(1, sizeof *f);

    if (!f)
        test_fail("out of memory");
    if (!opts)
        opts = &defaults;
    f->store_options = opts->store ? *opts->store : (pawl_store_options)PAWL_STORE_OPTIONS_INIT;
    f->real_clock = opts->real_clock;
    log_capture_init(&f->log);
    f->store_options.log = (pawl_log_sink){log_capture_write, &f->log, PAWL_LOG_DEBUG};
    choose_database(f, opts);
    test_defer(destroy, f); /* after the directory's, so that it runs before it */
    if (opts->no_schema)
        return f;
    if (!f->looks) {
        fixture_deploy(f);
        fixture_spare_note(f);
    }
    f->stores[0] = open_store(f);
    return f;
}

void fixture_close(fixture *f)
{
    if (!f)
        return;
    test_defer_cancel(f);
    destroy(f);
}

bool fixture_is_postgres(const fixture *f)
{
    return f->is_postgres;
}

pawl_store *fixture_store(fixture *f)
{
    return f->stores[0];
}

const char *fixture_url(const fixture *f)
{
    return f->url;
}

const pawl_store_options *fixture_store_options(const fixture *f)
{
    return &f->store_options;
}

void fixture_reopen(fixture *f)
{
    pawl_store_close(f->stores[0]);
    f->stores[0] = NULL;
    f->stores[0] = open_store(f);
}

pawl_store *fixture_another_store(fixture *f)
{
    for (int i = 1; i < FIXTURE_STORES; i++) {
        if (!f->stores[i])
            return f->stores[i] = open_store(f);
    }
    test_fail("more than %d stores in one fixture", FIXTURE_STORES);
}

void fixture_set(fixture *f, pawl_wall now)
{
    if (f->real_clock)
        test_fail("this fixture keeps the database's own clock; it cannot be set");
    fixture_exec(f, "UPDATE {test_clock} SET now = {at:%lld}", (long long)now.us);
}

void fixture_advance(fixture *f, int64_t ms)
{
    long long us = (long long)ms * 1000;

    if (f->real_clock)
        test_fail("this fixture keeps the database's own clock; it cannot be moved");
    if (f->is_postgres)
        fixture_set(f, (pawl_wall){fixture_now(f).us + us});
    else /* both at once: another process may be reading them */
        fixture_exec(f, "UPDATE {test_clock} SET now = now + %lld, boot = boot + %lld", us, us);
}

void fixture_restart_machine(fixture *f)
{
    if (!f->is_postgres)
        fixture_exec(f, "UPDATE {test_clock} SET boot = 0, boot_id = boot_id || '+'");
}

pawl_wall fixture_now(fixture *f)
{
    if (f->real_clock) {
        pawl_error err = PAWL_ERROR_INIT;
        pawl_wall now;

        assert_ok(pawl_store_now(f->stores[0], &now, &err), &err);
        return now;
    }
    return (pawl_wall){fixture_count(f, "SELECT {us:now} FROM {test_clock}")};
}

size_t fixture_log_count(fixture *f)
{
    return log_capture_count(&f->log);
}

const char *fixture_log_at(fixture *f, size_t index)
{
    return log_capture_at(&f->log, index);
}

bool fixture_logged(fixture *f, pawl_log_level level, const char *text_in_it)
{
    return log_capture_has(&f->log, level, text_in_it);
}

bool fixture_logged_field(fixture *f, const char *text_in_it, const char *name, const char *value)
{
    return log_capture_has_field(&f->log, text_in_it, name, value);
}

size_t fixture_logged_times(fixture *f, const char *text_in_it)
{
    return log_capture_times(&f->log, text_in_it);
}

void fixture_log_clear(fixture *f)
{
    log_capture_clear(&f->log);
}

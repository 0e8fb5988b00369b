/* src/db/migrate.c - deploying the schema, and the SQL of pawl/testing.h. */
#include <inttypes.h>
#include <string.h>

#include "buffer.h"
#include "db_private.h"
#include "fail.h"
#include "log.h"
#include "platform.h"

/* ---- reading and upgrading the schema ---- */

int pawli_db_library_version(const pawli_db *db)
{
    return (int)db->engine->sql->migration_count;
}

/*
 * Whether to replace the functions and views by this library's. Those of a newer schema or
 * release stay: the library works with them.
 */
static bool code_is_outdated(const pawli_engine_sql *sql, const pawli_installed *installed)
{
    if (installed->version != (int)sql->migration_count)
        return installed->version < (int)sql->migration_count;
    if (installed->code_release != sql->code_release)
        return installed->code_release < sql->code_release;
    return strcmp(installed->code_digest, sql->code_digest) != 0;
}

static pawl_status read_schema(pawli_db *db, pawli_conn *conn, pawl_mono deadline,
                               pawl_schema_info *ret_info, pawl_error *err)
{
    pawli_installed installed;
    pawl_status st = conn->driver->schema(conn, db->names, deadline, &installed, err);

    if (st == PAWL_OK)
        *ret_info = (pawl_schema_info){
            .version = installed.version,
            .compatible_from = installed.compatible_from,
            .library_version = pawli_db_library_version(db),
            .code_outdated = code_is_outdated(db->engine->sql, &installed),
        };
    return st;
}

pawl_status pawli_db_schema(pawli_db *db, pawl_schema_info *ret_info, pawl_error *err)
{
    pawli_pool *pool = db->readers ? db->readers : db->writers;
    pawl_mono deadline = pawli_db_deadline(db);
    pawli_conn *conn = NULL;
    pawl_status st = pawli_pool_acquire(pool, pawli_pool_interrupts(pool), deadline, &conn, err);

    if (st != PAWL_OK)
        return st;
    st = read_schema(db, conn, deadline, ret_info, err);
    pawli_pool_give_back(pool, conn);
    return st;
}

pawl_status pawli_db_check_schema(const pawl_schema_info *info, pawl_error *err)
{
    if (info->version == 0)
        return pawli_fail(err, PAWL_E_NO_SCHEMA,
                          "pawl's tables are not in this database: run `pawl init` once, or open "
                          "the store with deploy_schema");
    if (info->compatible_from > info->library_version)
        return pawli_fail(err, PAWL_E_INCOMPATIBLE,
                          "the schema is version %d and needs a library of schema %d or newer; "
                          "this one has %d: install a newer libpawl",
                          info->version, info->compatible_from, info->library_version);
    if (info->version < info->library_version)
        return pawli_fail(err, PAWL_E_NO_SCHEMA,
                          "the schema is version %d and this library needs %d: run `pawl migrate`",
                          info->version, info->library_version);
    return PAWL_OK;
}

static pawl_status migrate_run_script(pawli_db *db, pawli_conn *conn, const char *script,
                                      pawl_mono deadline, pawl_error *err)
{
    PAWLI_AUTO_FREE char *text = pawli_sql_fill_names(db->engine->sql, script, db->names);

    if (!text)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the schema's text");
    return conn->driver->script(conn, text, deadline, err);
}

/* Inside the transaction that holds the migration lock. */
static pawl_status migrate_apply(pawli_db *db, pawli_conn *conn, const pawl_schema_info *before,
                                 pawl_mono deadline, pawl_error *err)
{
    const pawli_engine_sql *sql = db->engine->sql;
    pawl_status st = PAWL_OK;

    for (size_t i = 0; i < sql->migration_count; i++) {
        const pawli_migration *migration = &sql->migrations[i];
        if (migration->version <= before->version)
            continue;
        st = migrate_run_script(db, conn, migration->text, deadline, err);
        if (st != PAWL_OK)
            return st;
        pawli_log(&db->log, PAWL_LOG_INFO, "store", "applied migration {migration}",
                  pawli_logged("store", db->settings.driver->name),
                  pawli_logged("migration", migration->name));
    }
    if (!before->code_outdated)
        return PAWL_OK;
    st = migrate_run_script(db, conn, sql->code, deadline, err);
    if (st == PAWL_OK && before->version > 0)
        pawli_log(&db->log, PAWL_LOG_INFO, "store",
                  "replaced the functions and views of an older release",
                  pawli_logged("store", db->settings.driver->name));
    return st;
}

static pawl_status deploy_on(pawli_db *db, pawli_conn *conn, pawl_mono deadline,
                             pawl_schema_info *ret_before, pawl_error *err)
{
    pawl_schema_info before;
    pawl_status st = conn->driver->begin(conn, deadline, err);

    if (st != PAWL_OK)
        return st;
    st = conn->driver->schema_lock(conn, db->names, deadline, err);
    if (st == PAWL_OK)
        st = read_schema(db, conn, deadline, &before, err);
    if (st == PAWL_OK && before.version > 0 && before.compatible_from > before.library_version)
        st = pawli_db_check_schema(&before, err);
    if (st == PAWL_OK)
        st = migrate_apply(db, conn, &before, deadline, err);
    if (st != PAWL_OK) {
        conn->driver->rollback(conn);
        return st;
    }
    if (!before.code_outdated)
        conn->driver->rollback(conn); /* nothing to do: no trace, not even an empty commit */
    else
        st = conn->driver->commit(conn, deadline, err);
    if (st == PAWL_OK)
        *ret_before = before;
    return st;
}

/* So that the calls that waited for the migration's locks run before it tries again. */
#define GIVE_WAY_US INT64_C(50000)

/*
 * A migration does not wait for long for a lock on a table in use, and is then rolled back: again,
 * until the deadline.
 */
pawl_status pawli_db_deploy(pawli_db *db, pawl_schema_info *ret_before, pawl_error *err)
{
    pawl_mono deadline = pawli_db_deadline(db);
    pawli_conn *conn = NULL;
    pawl_status st =
        pawli_pool_acquire(db->writers, pawli_pool_interrupts(db->writers), deadline, &conn, err);

    if (st != PAWL_OK)
        return st;
    do {
        st = deploy_on(db, conn, deadline, ret_before, err);
        if ((st != PAWL_E_BUSY && st != PAWL_E_SERIALIZATION) || conn->broken ||
            atomic_load(&conn->stop) || pawli_mono_left(deadline) < 2 * GIVE_WAY_US)
            break;
        pawli_log(&db->log, PAWL_LOG_DEBUG, "store", "migration: {error}, retrying",
                  pawli_logged("store", db->settings.driver->name),
                  pawli_logged("error", pawl_status_text(st)));
        pawli_sleep_us(GIVE_WAY_US);
    } while (true);
    pawli_pool_give_back(db->writers, conn);
    return st;
}

/* ---- running the SQL of pawl/testing.h ---- */

/* Replaces the one parameter that such a text may have. */
#define NUMBER ":us"

static char *fill_number(const char *text, int64_t us)
{
    PAWLI_AUTO_BUFFER filled = {0};
    const char *gap;

    for (; (gap = strstr(text, NUMBER)) != NULL; text = gap + strlen(NUMBER)) {
        pawli_buffer_append(&filled, text, (size_t)(gap - text));
        pawli_buffer_format(&filled, "%" PRId64, us);
    }
    pawli_buffer_text(&filled, text);
    return pawli_buffer_take(&filled);
}

static pawl_status run_on_connection(pawli_conn *conn, const char *sql, pawl_mono deadline,
                                     char **ret_value, pawl_error *err)
{
    PAWLI_AUTO_FREE char *value = NULL;
    pawl_status st = conn->driver->begin(conn, deadline, err);

    if (st != PAWL_OK)
        return st;
    if (ret_value)
        st = conn->driver->ask(conn, sql, deadline, &value, err);
    else
        st = conn->driver->script(conn, sql, deadline, err);
    if (st != PAWL_OK) {
        conn->driver->rollback(conn);
        return st;
    }
    st = conn->driver->commit(conn, deadline, err);
    if (st == PAWL_OK && ret_value) {
        *ret_value = value;
        value = NULL;
    }
    return st;
}

static pawl_status testing_run(pawli_db *db, const char *sql, char **ret_value, pawl_error *err)
{
    pawl_mono deadline = pawli_db_deadline(db);
    pawli_conn *conn = NULL;
    pawl_status st = pawli_db_check_process(db, err);

    if (st == PAWL_OK)
        st = pawli_db_check_thread(db, err);
    if (st == PAWL_OK)
        st = pawli_pool_acquire(db->writers, pawli_pool_interrupts(db->writers), deadline, &conn,
                                err);
    if (st != PAWL_OK)
        return st;
    st = run_on_connection(conn, sql, deadline, ret_value, err);
    pawli_pool_give_back(db->writers, conn);
    return st;
}

pawl_status pawli_db_testing(pawli_db *db, const char *name, int64_t us, char **ret_value,
                             pawl_error *err)
{
    const pawli_engine_sql *engine = db->engine->sql;
    const char *text = pawli_sql_testing(engine, name);

    if (!text)
        return pawli_fail(err, PAWL_E_UNSUPPORTED, "%s has no '%s' for tests", db->engine->name,
                          name);
    PAWLI_AUTO_FREE char *named = pawli_sql_fill_names(engine, text, db->names);
    PAWLI_AUTO_FREE char *sql = named ? fill_number(named, us) : NULL;
    if (!sql)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the SQL of a test");
    return testing_run(db, sql, ret_value, err);
}

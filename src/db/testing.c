/* src/db/testing.c - running the SQL that only pawl/testing.h uses. */
#include <inttypes.h>
#include <string.h>

#include "buffer.h"
#include "db_private.h"
#include "fail.h"

/* The one number that such a text may ask for. */
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

static pawl_status run_on(pawli_conn *conn, const char *sql, pawl_mono deadline, char **ret_answer,
                          pawl_error *err)
{
    PAWLI_AUTO_FREE char *answer = NULL;
    pawl_status st = conn->driver->begin(conn, deadline, err);

    if (st != PAWL_OK)
        return st;
    if (ret_answer)
        st = conn->driver->ask(conn, sql, deadline, &answer, err);
    else
        st = conn->driver->script(conn, sql, deadline, err);
    if (st != PAWL_OK) {
        conn->driver->rollback(conn);
        return st;
    }
    st = conn->driver->commit(conn, deadline, err);
    if (st == PAWL_OK && ret_answer) {
        *ret_answer = answer;
        answer = NULL;
    }
    return st;
}

static pawl_status testing_run(pawli_db *db, const char *sql, char **ret_answer, pawl_error *err)
{
    pawl_mono deadline = pawli_db_deadline(db);
    pawli_conn *conn = NULL;
    pawl_status st = pawli_db_check_process(db, err);

    if (st == PAWL_OK)
        st = pawli_db_check_thread(db, err);
    if (st == PAWL_OK)
        st = pawli_pool_acquire(db->writers, pawli_pool_turn(db->writers), deadline, &conn, err);
    if (st != PAWL_OK)
        return st;
    st = run_on(conn, sql, deadline, ret_answer, err);
    pawli_pool_give_back(db->writers, conn);
    return st;
}

pawl_status pawli_db_testing(pawli_db *db, const char *name, int64_t us, char **ret_answer,
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
    return testing_run(db, sql, ret_answer, err);
}

/* src/db/postgres/fixture_postgres.h - fixtures of the PostgreSQL driver's tests. */
#ifndef PAWLI_FIXTURE_POSTGRES_H
#define PAWLI_FIXTURE_POSTGRES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"
#include "handle.h"
#include "statements.h"
#include "test.h"
#include "platform.h"

#define SECONDS INT64_C(1000000)
#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* ---- a schema of the test's own, and connections to it ---- */

typedef struct postgres_fixture {
    pawli_db_settings settings;
    char names[40];
    char target[512];
    pawli_sql_text texts[PAWLI_SQL_COUNT]; /* the real statements; a test may replace them */
    pawli_statements *statements;
    handle *other; /* a second session, to observe and interfere */
} postgres_fixture;

static inline pawl_mono soon(void)
{
    return pawli_mono_after(pawli_mono_now(), 20 * SECONDS);
}

static inline const char *ask(handle *h, const char *sql)
{
    char message[512];
    char *value = NULL;
    const char *kept;

    if (!handle_engine_postgres->run(h, sql, &value, message))
        test_fail("%s\nwas refused: %s", sql, message);
    kept = value ? test_note("%s", value) : NULL;
    free(value);
    return kept;
}

static inline void postgres_fixture_done(void *argument)
{
    postgres_fixture *g = argument;
    char message[512];

    if (g->other) {
        (void)handle_engine_postgres->run(
            g->other, test_note("ROLLBACK; DROP SCHEMA IF EXISTS %s CASCADE", g->names), NULL,
            message);
        handle_engine_postgres->close(g->other);
    }
    pawli_statements_free(g->statements);
    free(g);
}

static inline postgres_fixture *postgres_fixture_new(void)
{
    static int number;
    const char *target = getenv("PAWL_TEST_POSTGRES");
    char message[512];

    if (!target)
        test_fail("PAWL_TEST_POSTGRES is not set: run the test under tests/with-postgres");
    postgres_fixture *g = calloc(1, sizeof *g);
    test_defer(postgres_fixture_done, g);
    snprintf(g->names, sizeof g->names, "driver_%ld_%d", (long)getpid(), ++number);
    snprintf(g->target, sizeof g->target, "%s", target);
    g->other = handle_engine_postgres->open(target, message);
    if (!g->other)
        test_fail("cannot connect: %s", message);
    ask(g->other, "SET client_min_messages = error");
    memcpy(g->texts, pawli_sql_postgres.statements, sizeof g->texts);
    g->settings = (pawli_db_settings){
        .driver = pawli_driver_postgres, .target = g->target, .names = g->names};
    return g;
}

static inline void close_conn(void *argument)
{
    pawli_driver_postgres->close(argument);
}

static inline pawli_conn *connect_to(postgres_fixture *g)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawli_conn *conn = NULL;

    if (!g->statements) {
        pawli_engine_sql engine = pawli_sql_postgres;
        engine.statements = g->texts;
        assert_ok(pawli_statements_new(&engine, g->names, &g->statements, NULL), NULL);
        g->settings.statements = g->statements;
    }
    assert_ok(pawli_driver_postgres->open(&g->settings, false, soon(), &conn, &err), &err);
    test_defer(close_conn, conn);
    return conn;
}

static inline void deploy(postgres_fixture *g)
{
    const pawli_driver *driver = pawli_driver_postgres;
    pawl_error err = PAWL_ERROR_INIT;
    pawli_conn *conn = connect_to(g);
    const pawli_engine_sql *engine = &pawli_sql_postgres;
    pawli_installed installed = {.version = -1};

    assert_ok(driver->schema(conn, g->names, soon(), &installed, &err), &err);
    assert_int_equal(0, installed.version);
    assert_ok(driver->begin(conn, soon(), &err), &err);
    assert_ok(driver->schema_lock(conn, g->names, soon(), &err), &err);
    for (size_t i = 0; i <= engine->migration_count; i++) {
        const char *text = i < engine->migration_count ? engine->migrations[i].text : engine->code;
        PAWLI_AUTO_FREE char *sql = pawli_sql_fill_names(engine, text, g->names);
        assert_ok(driver->script(conn, sql, soon(), &err), &err);
    }
    assert_ok(driver->commit(conn, soon(), &err), &err);
    assert_ok(driver->schema(conn, g->names, soon(), &installed, &err), &err);
    assert_int_equal(engine->migration_count, installed.version);
    assert_int_equal(1, installed.compatible_from);
    assert_int_equal(engine->code_release, installed.code_release);
    assert_string_equal(engine->code_digest, installed.code_digest);
}

/* ---- ops ---- */

/* The result of an op: the first columns of its rows. */
typedef struct query_result {
    int rows;
    int64_t first, second, third; /* of the last row, if they are numbers */
    int64_t sum;                  /* of column 0 */
    bool take_all;
} query_result;

static inline pawl_status note_row(void *context, const pawli_row *row, pawl_error *err)
{
    query_result *a = context;

    (void)err;
    a->rows++;
    a->first = pawli_row_int(row, 0);
    a->sum += a->first;
    if (a->take_all) {
        a->second = pawli_row_int(row, 1);
        a->third = pawli_row_int(row, 2);
    }
    return PAWL_OK;
}

typedef struct outgoing {
    const char *id_text; /* NULL: a new one */
    const char *topic;
    const char *payload;
} outgoing;

static const char *const enqueue_names[] = {
    "position", "message_id",     "topic",     "payload",      "type",       "destination",
    "headers",  "correlation_id", "priority",  "due_at",       "delay",      "expires_at",
    "ttl",      "max_attempts",   "lease",     "retry_base",   "retry_max",  "retry_jitter",
    "timeout",  "heartbeat",      "count_all", "ordering_key", "unique_key", "tags"};
static const pawli_type enqueue_types[] = {
    PAWLI_INT,  PAWLI_UUID, PAWLI_TEXT, PAWLI_BYTES, PAWLI_INT,  PAWLI_TEXT,
    PAWLI_TEXT, PAWLI_TEXT, PAWLI_INT,  PAWLI_TIME,  PAWLI_SPAN, PAWLI_TIME,
    PAWLI_SPAN, PAWLI_INT,  PAWLI_SPAN, PAWLI_SPAN,  PAWLI_SPAN, PAWLI_SPAN,
    PAWLI_SPAN, PAWLI_SPAN, PAWLI_BOOL, PAWLI_TEXT,  PAWLI_TEXT, PAWLI_TEXTS};
#define COLUMNS COUNT_OF(enqueue_types)

static inline void fill_row(pawli_value *row, int position, const pawl_uuid *id,
                            const outgoing *message)
{
    for (size_t i = 0; i < COLUMNS; i++)
        row[i] = pawli_null(enqueue_types[i]);
    row[0] = pawli_int(position);
    row[1] = pawli_uuid(id->bytes);
    row[2] = pawli_text(message->topic);
    row[3] = pawli_bytes(message->payload, strlen(message->payload));
    row[4] = pawli_int(0);
    row[8] = pawli_int(0);
    row[13] = pawli_int(10);
}

static inline pawl_status enqueue(pawli_conn *conn, const outgoing *messages, size_t count,
                                  bool fresh, pawl_mono deadline, query_result *ret_value,
                                  pawl_error *err)
{
    pawl_uuid ids[16];
    pawli_value values[16 * COLUMNS];
    pawli_rows rows = {count, COLUMNS, enqueue_names, enqueue_types, values};
    pawli_op op = {.sql = fresh ? PAWLI_SQL_ENQUEUE_FRESH : PAWLI_SQL_ENQUEUE,
                   .writes = true,
                   .rows = &rows,
                   .on_row = note_row,
                   .context = ret_value};

    assert_true(count <= COUNT_OF(ids));
    for (size_t i = 0; i < count; i++) {
        ids[i] = pawl_uuid_new();
        if (messages[i].id_text)
            assert_ok(pawl_uuid_parse(messages[i].id_text, &ids[i], NULL), NULL);
        fill_row(values + i * COLUMNS, (int)i, &ids[i], &messages[i]);
    }
    *ret_value = (query_result){.take_all = true};
    return conn->driver->run(conn, &op, deadline, err);
}

static inline pawl_owner new_owner(void)
{
    static const pawl_owner owner = {{1, 2, 3}};
    return owner;
}

static inline pawl_status claim(pawli_conn *conn, int64_t lease_ms, const char *const *topics,
                                size_t topic_count,
                                pawl_status (*on_row)(void *, const pawli_row *, pawl_error *),
                                void *context, pawl_error *err)
{
    static const char *const names[] = {"id", "fence"}; /* the columns that on_row reads */
    static const pawli_columns columns = {names, COUNT_OF(names)};
    pawl_owner owner = new_owner();
    pawli_param params[] = {{"owner", pawli_uuid(owner.bytes)},
                            {"owner_name", pawli_text("tester")},
                            {"lease", pawli_span_ms(lease_ms)},
                            {"limit", pawli_int(10)},
                            {"topics", pawli_texts(topics, topic_count)},
                            {"after_lane", pawli_int(0)},
                            {"cursor_first", pawli_int(0)},
                            {"cursor_since", pawli_times(NULL, 0)},
                            {"notes", pawli_bool(true)}};
    pawli_op op = {.sql = PAWLI_SQL_CLAIM,
                   .writes = true,
                   .params = params,
                   .param_count = COUNT_OF(params),
                   .columns = &columns,
                   .on_row = on_row,
                   .context = context};

    return conn->driver->run(conn, &op, soon(), err);
}

static inline pawl_status ack(pawli_conn *conn, int64_t id, int64_t fence, query_result *ret_value,
                              pawl_error *err)
{
    static const char *const names[] = {"id", "fence"};
    static const pawli_type types[] = {PAWLI_INT, PAWLI_INT};
    pawl_owner owner = new_owner();
    pawli_value values[] = {pawli_int(id), pawli_int(fence), pawli_int(id), pawli_int(fence)};
    pawli_param params[] = {{"owner", pawli_uuid(owner.bytes)}};
    pawli_rows rows = {2, 2, names, types, values}; /* the same item twice */
    pawli_op op = {.sql = PAWLI_SQL_ACK,
                   .writes = true,
                   .params = params,
                   .param_count = 1,
                   .rows = &rows,
                   .on_row = note_row,
                   .context = ret_value};

    *ret_value = (query_result){0};
    return conn->driver->run(conn, &op, soon(), err);
}

typedef struct claimed {
    int rows;
    int64_t id, fence;
} claimed;

static inline pawl_status note_claim(void *context, const pawli_row *row, pawl_error *err)
{
    claimed *c = context;

    (void)err;
    c->rows++;
    c->id = pawli_row_int(row, 0);
    c->fence = pawli_row_int(row, 1);
    return PAWL_OK;
}

#endif

/* tests/crash/observe_database.c - the contents of a database file, read by plain SQL. */
#include "check_database.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAYLOAD_ROOM 16384

/* Each returns how many rows break it. */
static const struct rule {
    const char *meaning;
    const char *sql;
} rules[] = {
    {"messages are unfinished and finished",
     "SELECT count(*) FROM pawl_queue JOIN pawl_outcome USING (id)"},
    {"messages are neither unfinished nor finished",
     "SELECT count(*) FROM pawl_body WHERE id NOT IN (SELECT id FROM pawl_queue)"
     " AND id NOT IN (SELECT id FROM pawl_outcome)"},
    {"unfinished messages have no body",
     "SELECT count(*) FROM pawl_queue WHERE id NOT IN (SELECT id FROM pawl_body)"},
    {"finished messages have no body",
     "SELECT count(*) FROM pawl_outcome WHERE id NOT IN (SELECT id FROM pawl_body)"},
    {"messages have no lane",
     "SELECT count(*) FROM pawl_queue WHERE lane_id NOT IN (SELECT id FROM pawl_lane)"},
    {"messages are partly claimed",
     "SELECT count(*) FROM pawl_queue WHERE (fence <> 0) <> (lease_until <> 0)"
     " OR (fence <> 0) <> (owner <> zeroblob(16))"},
    {"running messages are in no claim of their owner",
     "SELECT count(*) FROM pawl_queue q WHERE fence <> 0 AND NOT EXISTS (SELECT 1 FROM pawl_claim "
     "c,"
     " json_each(c.ids) j WHERE c.fence = q.fence AND c.owner = q.owner AND j.value = q.id)"},
    {"claims have outlived the last message that they took",
     "SELECT count(*) FROM pawl_claim c WHERE NOT EXISTS (SELECT 1 FROM json_each(c.ids) j"
     " JOIN pawl_queue q ON q.id = j.value AND q.fence = c.fence)"},
    {"claims are checked after a lease in them has ended",
     "SELECT count(*) FROM pawl_owned WHERE check_at > lease_until"},
    {"fences are above the last one given out",
     "SELECT (SELECT count(*) FROM pawl_queue WHERE fence > m.fence)"
     " + (SELECT count(*) FROM pawl_claim WHERE fence > m.fence)"
     " + (SELECT count(*) FROM pawl_lease WHERE fence > m.fence) FROM pawl_meta m"},
    {"lanes count other messages as running than the queue",
     "SELECT count(*) FROM pawl_lane_stats t WHERE running <> (SELECT count(*) FROM pawl_queue q"
     " WHERE q.lane_id = t.lane_id AND q.fence <> 0)"},
};

static bool fail_with(sqlite3 *handle, const char *what, char *ret_text, size_t size)
{
    snprintf(ret_text, size, "%s: %s", what, sqlite3_errmsg(handle));
    return false;
}

/* Column 0 of the first row; false: an error. */
static bool ask_number(sqlite3 *handle, const char *sql, int64_t *ret_number)
{
    sqlite3_stmt *statement = NULL;
    bool done = sqlite3_prepare_v2(handle, sql, -1, &statement, NULL) == SQLITE_OK &&
                sqlite3_step(statement) == SQLITE_ROW;

    if (done)
        *ret_number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return done;
}

static char *ask_text(sqlite3 *handle, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    char *text = NULL;

    if (sqlite3_prepare_v2(handle, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        const char *found = (const char *)sqlite3_column_text(statement, 0);
        text = strdup(found ? found : "");
    }
    sqlite3_finalize(statement);
    return text;
}

char *observe_schema(sqlite3 *handle)
{
    return ask_text(handle,
                    "SELECT group_concat(text, char(10)) FROM (SELECT type || ' ' || name ||"
                    " ' ' || coalesce(sql, '') AS text FROM sqlite_schema"
                    " WHERE name LIKE 'pawl%' OR tbl_name LIKE 'pawl%'"
                    " ORDER BY type, name)");
}

bool observe_rules(sqlite3 *handle, bool schema, char *ret_text, size_t size)
{
    char *damage = ask_text(handle, "PRAGMA integrity_check");
    bool sound = damage && strcmp(damage, "ok") == 0;

    if (!damage)
        fail_with(handle, "integrity_check failed", ret_text, size);
    else if (!sound)
        snprintf(ret_text, size, "damaged: %s", damage);
    free(damage);
    for (size_t i = 0; sound && schema && i < sizeof rules / sizeof rules[0]; i++) {
        int64_t broken = 0;
        if (!ask_number(handle, rules[i].sql, &broken))
            return fail_with(handle, rules[i].meaning, ret_text, size);
        if (broken != 0) {
            snprintf(ret_text, size, "%lld %s", (long long)broken, rules[i].meaning);
            sound = false;
        }
    }
    return sound;
}

static bool same_content(sqlite3_stmt *row, int number)
{
    uint8_t payload[PAYLOAD_ROOM];
    const char *topic = (const char *)sqlite3_column_text(row, 1);
    const void *found = sqlite3_column_blob(row, 2);
    size_t size = (size_t)sqlite3_column_bytes(row, 2);

    model_payload(number, payload);
    return strcmp(topic, model_topic(number)) == 0 && size == model_payload_size(number) &&
           (size == 0 || memcmp(found, payload, size) == 0);
}

static bool read_row(sqlite3_stmt *row, model *m, char *ret_text, size_t size)
{
    const uint8_t *id = sqlite3_column_blob(row, 0);
    int number = id && sqlite3_column_bytes(row, 0) == 16 ? model_number(id) : -1;
    const uint8_t *owner = sqlite3_column_blob(row, 6);

    if (number < 0 || m->messages[number].state != MODEL_ABSENT) {
        snprintf(ret_text, size, "there is a message that was never sent, or one twice");
        return false;
    }
    if (!same_content(row, number)) {
        snprintf(ret_text, size, "message %d has another topic or payload", number);
        return false;
    }
    m->messages[number] = (model_message){
        .state = sqlite3_column_int(row, 3),
        .retries = sqlite3_column_int(row, 4),
        .fence = sqlite3_column_int64(row, 5),
        .owner = owner ? model_owner_number(owner) : 0,
        .lease_until_ms = sqlite3_column_int64(row, 7) / 1000,
    };
    if (m->messages[number].state == PAWL_STATE_READY)
        m->messages[number].run_at_ms = sqlite3_column_int64(row, 8) / 1000;
    return true;
}

static bool read_messages(sqlite3 *handle, model *m, char *ret_text, size_t size)
{
    sqlite3_stmt *row = NULL;
    bool good = true;
    int code = sqlite3_prepare_v2(handle,
                                  /* not the state that the view shows: what is overdue reads as
                                     expired there before it is moved */
                                  "SELECT m.message_id, m.topic, m.payload,"
                                  " coalesce(o.state, m.fence <> 0), m.retries, m.fence, m.owner,"
                                  " m.lease_until, m.next_attempt_at"
                                  " FROM pawl_message m LEFT JOIN pawl_outcome o ON o.id = m.id",
                                  -1, &row, NULL);

    while (code == SQLITE_OK && good && (code = sqlite3_step(row)) == SQLITE_ROW) {
        good = read_row(row, m, ret_text, size);
        code = SQLITE_OK;
    }
    if (good && code != SQLITE_DONE)
        good = fail_with(handle, "the messages cannot be read", ret_text, size);
    sqlite3_finalize(row);
    return good;
}

static bool read_leases(sqlite3 *handle, model *m, char *ret_text, size_t size)
{
    sqlite3_stmt *row = NULL;
    bool good = true;
    int code = sqlite3_prepare_v2(handle,
                                  "SELECT name, owner, fence, expires_at, released_at IS NOT NULL"
                                  " FROM pawl_lease",
                                  -1, &row, NULL);

    while (code == SQLITE_OK && good && (code = sqlite3_step(row)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(row, 0);
        int number = name && name[0] ? name[strlen(name) - 1] - '0' : -1;

        good = number >= 0 && number < MODEL_LEASES && strcmp(name, model_lease_name(number)) == 0;
        if (good)
            m->leases[number] = (model_lease){
                .owner = model_owner_number(sqlite3_column_blob(row, 1)),
                .fence = sqlite3_column_int64(row, 2),
                .expires_at_ms = sqlite3_column_int64(row, 3) / 1000,
                .released = sqlite3_column_int(row, 4) != 0,
            };
        else
            snprintf(ret_text, size, "there is a lease that was never acquired");
        code = SQLITE_OK;
    }
    if (good && code != SQLITE_DONE)
        good = fail_with(handle, "the leases cannot be read", ret_text, size);
    sqlite3_finalize(row);
    return good;
}

static bool read_orders(sqlite3 *handle, model *m, char *ret_text, size_t size)
{
    sqlite3_stmt *row = NULL;
    int code = sqlite3_prepare_v2(handle, "SELECT n FROM orders", -1, &row, NULL);

    while (code == SQLITE_OK && (code = sqlite3_step(row)) == SQLITE_ROW) {
        int number = sqlite3_column_int(row, 0);
        if (number >= 0 && number < MODEL_MESSAGES)
            m->orders[number] = true;
        code = SQLITE_OK;
    }
    sqlite3_finalize(row);
    return code == SQLITE_DONE ||
           fail_with(handle, "the application's table cannot be read", ret_text, size);
}

bool observe(sqlite3 *handle, model *ret_model, char *ret_text, size_t size)
{
    int64_t count = 0;
    bool good = true;

    model_init(ret_model);
    if (!handle)
        return true;
    if (!ask_number(handle, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'pawl%'", &count))
        return fail_with(handle, "the file cannot be read", ret_text, size);
    ret_model->schema = count > 0;
    if (ret_model->schema)
        good = read_messages(handle, ret_model, ret_text, size) &&
               read_leases(handle, ret_model, ret_text, size);
    if (good && ret_model->schema &&
        !ask_number(handle, "SELECT fence FROM pawl_meta", &ret_model->fence))
        return fail_with(handle, "the fence cannot be read", ret_text, size);
    if (good &&
        !ask_number(handle, "SELECT count(*) FROM sqlite_schema WHERE name = 'orders'", &count))
        return fail_with(handle, "the file cannot be read", ret_text, size);
    ret_model->orders_table = good && count > 0;
    return good && (!ret_model->orders_table || read_orders(handle, ret_model, ret_text, size));
}

/* src/db/statements.c - named statements and their parameters. */
#include "statements.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "engine.h"
#include "fail.h"
#include "op.h"
#include "row.h"

/* ---- the SQL of one engine, with the store's own table names filled in ---- */

struct pawli_statements {
    char *texts[PAWLI_SQL_COUNT];
};

static bool statements_is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Whether the placeholder is at `at`; inside a quoted string only as a qualifier ("pawl.x"). */
static bool stands_here(const pawli_engine_sql *engine, const char *start, const char *at,
                        bool quoted)
{
    size_t length = strlen(engine->placeholder);

    if (strncmp(at, engine->placeholder, length) != 0 || (at > start && statements_is_word(at[-1])))
        return false;
    if (engine->is_prefix)
        return !quoted;
    return quoted ? at[length] == '.' && statements_is_word(at[length + 1])
                  : !statements_is_word(at[length]);
}

char *pawli_sql_fill_names(const pawli_engine_sql *engine, const char *text, const char *names)
{
    PAWLI_AUTO_BUFFER filled = {0};
    bool quoted = false;

    for (const char *at = text; *at;) {
        if (!quoted && at[0] == '-' && at[1] == '-') {
            size_t comment = strcspn(at, "\n");
            pawli_buffer_append(&filled, at, comment);
            at += comment;
        } else if (stands_here(engine, text, at, quoted)) {
            /* A schema may have a keyword as its name ("user"); a table prefix is part of a
             * longer word. */
            pawli_buffer_format(&filled, engine->is_prefix ? "%s" : "\"%s\"", names);
            at += strlen(engine->placeholder);
        } else {
            if (*at == '\'')
                quoted = !quoted;
            pawli_buffer_append(&filled, at++, 1);
        }
    }
    return pawli_buffer_take(&filled);
}

pawl_status pawli_statements_new(const pawli_engine_sql *engine, const char *names,
                                 pawli_statements **ret_statements, pawl_error *err)
{
    PAWLI_AUTO(pawli_statements) statements = calloc(1, sizeof *statements);

    for (int i = 0; statements && i < PAWLI_SQL_COUNT; i++) {
        if (!engine->statements[i].text) /* of another engine's driver */
            continue;
        statements->texts[i] = pawli_sql_fill_names(engine, engine->statements[i].text, names);
        if (!statements->texts[i])
            return pawli_fail(err, PAWL_E_NOMEM, "out of memory while reading pawl's SQL");
    }
    if (!statements)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory while reading pawl's SQL");
    *ret_statements = pawli_statements_take(&statements);
    return PAWL_OK;
}

void pawli_statements_free(pawli_statements *statements)
{
    if (!statements)
        return;
    for (int i = 0; i < PAWLI_SQL_COUNT; i++)
        free(statements->texts[i]);
    free(statements);
}

const char *pawli_statements_text(const pawli_statements *statements, enum pawli_sql sql)
{
    return statements->texts[sql];
}

const char *pawli_sql_name(enum pawli_sql sql)
{
    return pawli_engine_at(0)->sql->statements[sql].name; /* every engine has all names */
}

const char *pawli_sql_testing(const pawli_engine_sql *engine, const char *name)
{
    for (const pawli_sql_text *text = engine->testing; text && text->name; text++)
        if (strcmp(text->name, name) == 0)
            return text->text;
    return NULL;
}

/* ---- constructing parameter values, reading result rows ---- */

pawli_value pawli_int(int64_t number)
{
    return (pawli_value){.type = PAWLI_INT, .as.number = number};
}

pawli_value pawli_bool(bool flag)
{
    return (pawli_value){.type = PAWLI_BOOL, .as.number = flag};
}

pawli_value pawli_text(const char *text)
{
    if (!text)
        return pawli_null(PAWLI_TEXT);
    return (pawli_value){.type = PAWLI_TEXT, .as.bytes = {text, strlen(text)}};
}

pawli_value pawli_bytes(const void *data, size_t size)
{
    return (pawli_value){.type = PAWLI_BYTES, .as.bytes = {data, size}};
}

pawli_value pawli_uuid(const uint8_t bytes[16])
{
    return (pawli_value){.type = PAWLI_UUID, .as.bytes = {bytes, 16}};
}

pawli_value pawli_time(pawl_wall time)
{
    if (time.us == 0)
        return pawli_null(PAWLI_TIME);
    return (pawli_value){.type = PAWLI_TIME, .as.number = time.us};
}

pawli_value pawli_span_ms(int64_t ms)
{
    return (pawli_value){.type = PAWLI_SPAN, .as.number = ms * 1000};
}

pawli_value pawli_texts(const char *const *items, size_t count)
{
    if (!items)
        return pawli_null(PAWLI_TEXTS);
    return (pawli_value){.type = PAWLI_TEXTS, .as.texts = {items, count}};
}

pawli_value pawli_ints(const int64_t *items, size_t count)
{
    if (!items)
        return pawli_null(PAWLI_INTS);
    return (pawli_value){.type = PAWLI_INTS, .as.numbers = {items, count}};
}

pawli_value pawli_times(const int64_t *items, size_t count)
{
    return (pawli_value){.type = PAWLI_TIMES, .as.numbers = {items, count}};
}

pawli_value pawli_null(pawli_type type)
{
    return (pawli_value){.type = type, .is_null = true};
}

bool pawli_is_list(pawli_type type)
{
    return type == PAWLI_TEXTS || type == PAWLI_INTS || type == PAWLI_TIMES;
}

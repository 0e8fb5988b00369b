/* src/db/postgres/translate_postgres.c - turning ":name" into "$1". */
#include <stdlib.h>
#include <string.h>

#include "conn_postgres.h"
#include "fail.h"

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* How far a string, a quoted name, a comment or a dollar-quoted text reaches; 0 if none starts. */
static size_t skip_quoted(const char *at)
{
    const char *end = NULL;
    size_t tag;

    if (*at == '\'' || *at == '"') {
        end = strchr(at + 1, *at); /* a doubled quote is two strings in a row: the same here */
        return end ? (size_t)(end - at) + 1 : strlen(at);
    }
    if (at[0] == '-' && at[1] == '-')
        return strcspn(at, "\n");
    if (at[0] == '/' && at[1] == '*') {
        end = strstr(at + 2, "*/");
        return end ? (size_t)(end - at) + 2 : strlen(at);
    }
    if (*at != '$')
        return 0;
    for (tag = 1; is_name(at[tag]);)
        tag++;
    if (at[tag] != '$')
        return 0;
    tag++;
    for (end = at + tag; *end; end++)
        if (strncmp(end, at, tag) == 0)
            return (size_t)(end - at) + tag;
    return strlen(at);
}

/* The number of the parameter, from 1; 0 when there are too many. */
static int translate_number_of(pawli_postgres_statement *statement, const char *name, size_t length)
{
    for (int i = 0; i < statement->count; i++)
        if (statement->names[i].length == length &&
            memcmp(statement->names[i].start, name, length) == 0)
            return i + 1;
    if (statement->count == PAWLI_POSTGRES_PARAMS_MAX)
        return 0;
    statement->names[statement->count].start = name;
    statement->names[statement->count].length = length;
    return ++statement->count;
}

static bool translate(const char *source, pawli_postgres_statement *statement,
                      pawli_buffer *translated)
{
    for (const char *at = source; *at;) {
        size_t quoted = skip_quoted(at);
        if (quoted > 0) {
            pawli_buffer_append(translated, at, quoted);
            at += quoted;
        } else if (at[0] == ':' && at[1] == ':') {
            pawli_buffer_append(translated, at, 2);
            at += 2;
        } else if (at[0] == ':' && is_name(at[1])) {
            size_t length = 0;
            while (is_name(at[1 + length]))
                length++;
            int number = translate_number_of(statement, at + 1, length);
            if (number == 0)
                return false;
            pawli_buffer_format(translated, "$%d", number);
            at += 1 + length;
        } else {
            pawli_buffer_append(translated, at++, 1);
        }
    }
    return true;
}

pawl_status pawli_postgres_translate(pawli_postgres *conn, enum pawli_sql sql,
                                     pawli_postgres_statement **ret_statement, pawl_error *err)
{
    pawli_postgres_statement *statement = &conn->statements[sql];
    PAWLI_AUTO_BUFFER translated = {0};

    if (!statement->text) {
        const char *source = pawli_statements_text(conn->settings->statements, sql);
        statement->count = 0;
        if (!translate(source, statement, &translated))
            return pawli_fail(err, PAWL_E_STORE, "the statement %s has more than %d parameters",
                              pawli_sql_name(sql), PAWLI_POSTGRES_PARAMS_MAX);
        statement->text = pawli_buffer_take(&translated);
        if (!statement->text)
            return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the statement %s",
                              pawli_sql_name(sql));
    }
    *ret_statement = statement;
    return PAWL_OK;
}

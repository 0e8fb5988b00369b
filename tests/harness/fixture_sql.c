/* tests/harness/fixture_sql.c - plain SQL written once for both engines, and own transactions. */
#include "fixture_private.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

static handle *open_handle(fixture *f)
{
    char message[512];
    handle *h = f->engine->open(f->target, message);

    if (!h)
        test_fail("cannot open %s: %s", f->target, message);
    return h;
}

handle *fixture_own_handle(fixture *f)
{
    if (!f->own)
        f->own = open_handle(f);
    return f->own;
}

void fixture_reconnect(fixture *f)
{
    if (f->own)
        f->engine->close(f->own);
    f->own = NULL;
}

handle *fixture_handle(fixture *f, int which)
{
    if (which < 0 || which >= FIXTURE_HANDLES)
        test_fail("handle %d; there are 0 to %d", which, FIXTURE_HANDLES - 1);
    if (!f->handles[which])
        f->handles[which] = open_handle(f);
    return f->handles[which];
}

const char *fixture_run(fixture *f, handle *h, const char *sql)
{
    char message[512];
    char *value = NULL;
    const char *kept;

    if (!f->engine->run(h, sql, &value, message))
        test_fail("%s\nwas refused: %s", sql, message);
    kept = value ? test_note("%s", value) : NULL;
    free(value);
    return kept;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

const char *fixture_fill_names(const fixture *f, const char *text)
{
    const char *word = f->is_postgres ? "pawl" : "pawl_";
    size_t word_size = strlen(word);
    char *out = NULL;
    size_t out_size = 0;
    FILE *stream = open_memstream(&out, &out_size);
    const char *kept;

    if (!stream)
        abort();
    for (const char *at = text; *at;) {
        bool starts = (at == text || !is_word(at[-1])) && strncmp(at, word, word_size) == 0;

        if (starts && (!f->is_postgres || !is_word(at[word_size]))) {
            fputs(f->names, stream);
            at += word_size;
        } else {
            fputc(*at++, stream);
        }
    }
    fclose(stream);
    kept = test_note("%s", out);
    free(out);
    return kept;
}

/* The end of the text in braces that begins at `open`, minding inner braces; NULL if none. */
static const char *closing_brace(const char *open)
{
    int depth = 0;

    for (const char *at = open; *at; at++) {
        depth += (*at == '{') - (*at == '}');
        if (depth == 0)
            return at;
    }
    return NULL;
}

/* The replacement of {inside}; NULL when the braces are not ours (JSON, an array). */
static const char *meaning(fixture *f, const char *inside)
{
    if (strncmp(inside, "us:", 3) == 0)
        return f->is_postgres ? test_note("(extract(epoch from (%s)) * 1000000)::bigint",
                                          fixture_expand(f, inside + 3))
                              : test_note("(%s)", fixture_expand(f, inside + 3));
    if (strncmp(inside, "at:", 3) == 0)
        return f->is_postgres ? test_note("(to_timestamp(0) + (%s) * interval '1 microsecond')",
                                          fixture_expand(f, inside + 3))
                              : test_note("(%s)", fixture_expand(f, inside + 3));
    if (!*inside)
        return NULL;
    for (const char *at = inside; *at; at++) {
        if (!islower((unsigned char)*at) && *at != '_')
            return NULL;
    }
    return test_note(f->is_postgres ? "%s.%s" : "%s%s", f->names, inside);
}

const char *fixture_expand(fixture *f, const char *sql)
{
    char *out = NULL;
    size_t out_size = 0;
    FILE *stream = open_memstream(&out, &out_size);
    const char *kept;

    if (!stream)
        abort();
    for (const char *at = sql; *at;) {
        const char *end = *at == '{' ? closing_brace(at) : NULL;
        const char *replaced =
            end ? meaning(f, test_note("%.*s", (int)(end - at - 1), at + 1)) : NULL;

        if (replaced) {
            fputs(replaced, stream);
            at = end + 1;
        } else {
            fputc(*at++, stream);
        }
    }
    fclose(stream);
    kept = test_note("%s", out);
    free(out);
    return kept;
}

/* Format, then expand. */
static const char *prepare_sql(fixture *f, const char *format, va_list arguments) PAWL_PRINTF(2, 0);
static const char *prepare_sql(fixture *f, const char *format, va_list arguments)
{
    char *sql = NULL;
    const char *expanded;

    if (vasprintf(&sql, format, arguments) < 0)
        abort();
    expanded = fixture_expand(f, sql);
    free(sql);
    return expanded;
}

/* Run the format and its arguments on a handle; `result` becomes the value. */
#define RUN_FORMAT(f, h, format, result)                                                           \
    do {                                                                                           \
        va_list arguments;                                                                         \
        va_start(arguments, format);                                                               \
        result = prepare_sql((f), format, arguments);                                              \
        va_end(arguments);                                                                         \
        result = fixture_run((f), (h), result);                                                    \
    } while (0)

static int64_t as_number(const char *value)
{
    if (!value || strcmp(value, "f") == 0)
        return 0;
    if (strcmp(value, "t") == 0)
        return 1;
    return strtoll(value, NULL, 10);
}

void fixture_exec(fixture *f, const char *sql, ...)
{
    const char *value;

    RUN_FORMAT(f, fixture_own_handle(f), sql, value);
    (void)value;
}

int64_t fixture_count(fixture *f, const char *sql, ...)
{
    const char *value;

    RUN_FORMAT(f, fixture_own_handle(f), sql, value);
    return as_number(value);
}

const char *fixture_text(fixture *f, const char *sql, ...)
{
    const char *value;

    RUN_FORMAT(f, fixture_own_handle(f), sql, value);
    return value;
}

bool fixture_refuses(fixture *f, const char *sql, ...)
{
    va_list arguments;
    const char *expanded;
    char message[512];
    bool done;

    va_start(arguments, sql);
    expanded = prepare_sql(f, sql, arguments);
    va_end(arguments);
    fixture_run(f, fixture_own_handle(f), f->engine->begin);
    done = f->engine->run(f->own, expanded, NULL, message);
    fixture_run(f, f->own, "ROLLBACK");
    return !done;
}

pawl_status fixture_tx_foreign(fixture *f, int which, pawl_store *store, pawl_tx **ret_tx,
                               pawl_error *err)
{
    pawl_tx *tx = NULL;
    pawl_status st = f->engine->foreign_tx(fixture_handle(f, which), store, &tx, err);

    if (st != PAWL_OK)
        return st;
    pawl_tx_free(f->txs[which]);
    f->txs[which] = tx;
    *ret_tx = tx;
    return PAWL_OK;
}

pawl_tx *fixture_tx_begin(fixture *f, int which)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_tx *tx = NULL;

    fixture_run(f, fixture_handle(f, which), f->engine->begin);
    assert_ok(fixture_tx_foreign(f, which, f->stores[0], &tx, &err), &err);
    return tx;
}

static void end_tx(fixture *f, int which, const char *sql, bool committed)
{
    fixture_run(f, fixture_handle(f, which), sql);
    if (committed && f->txs[which])
        pawl_tx_committed(f->txs[which]);
    pawl_tx_free(f->txs[which]);
    f->txs[which] = NULL;
}

void fixture_tx_commit(fixture *f, int which)
{
    end_tx(f, which, "COMMIT", true);
}

void fixture_tx_rollback(fixture *f, int which)
{
    end_tx(f, which, "ROLLBACK", false);
}

void fixture_tx_exec(fixture *f, int which, const char *sql, ...)
{
    const char *value;

    RUN_FORMAT(f, fixture_handle(f, which), sql, value);
    (void)value;
}

int64_t fixture_tx_count(fixture *f, int which, const char *sql, ...)
{
    const char *value;

    RUN_FORMAT(f, fixture_handle(f, which), sql, value);
    return as_number(value);
}

struct sqlite3 *fixture_sqlite(fixture *f, int which)
{
    return f->is_postgres ? NULL : f->engine->native(fixture_handle(f, which));
}

struct pg_conn *fixture_postgres(fixture *f, int which)
{
    return f->is_postgres ? f->engine->native(fixture_handle(f, which)) : NULL;
}

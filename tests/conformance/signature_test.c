/*
 * tests/conformance/signature_test.c - the functions and columns that a release offered in
 * PostgreSQL stays: arguments and columns are only added at the end, arguments with a default.
 *
 * signatures.txt has the functions and views of the last release that pawl's roles may use. For a
 * release: PAWL_TEST_SIGNATURES=FILE makes the first case write the list of now to FILE.
 */
#include "queue_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "function NAME|result|arguments" or "view NAME||columns", a line each. */
#define SIGNATURES                                                                                 \
    "SELECT string_agg(replace(x.line, n.nspname || '.', 'pawl.'), E'\\n' ORDER BY x.line)"        \
    " FROM pg_namespace n CROSS JOIN LATERAL ("                                                    \
    "SELECT format('function %%s|%%s|%%s', p.proname, pg_get_function_result(p.oid),"              \
    " (SELECT string_agg(concat_ws(' ', p.proargnames[i], format_type(p.proargtypes[i - 1], "      \
    "NULL),"                                                                                       \
    " 'DEFAULT ' || pg_get_function_arg_default(p.oid, i)), ', ' ORDER BY i)"                      \
    " FROM generate_series(1, p.pronargs) AS i)) AS line"                                          \
    " FROM pg_proc p JOIN {access}() a ON a.function_name = p.proname"                             \
    " WHERE p.pronamespace = n.oid AND a.caller LIKE 'pawl%%'"                                     \
    " UNION ALL SELECT format('view %%s||%%s', c.relname,"                                         \
    " (SELECT string_agg(concat(a.attname, ' ', format_type(a.atttypid, a.atttypmod)), ', '"       \
    " ORDER BY a.attnum) FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0))"          \
    " FROM pg_class c WHERE c.relnamespace = n.oid AND c.relkind = 'v'"                            \
    " AND has_table_privilege('pawl_work', c.oid, 'SELECT')) AS x WHERE n.nspname = '%s'"

/* Whether `line` is `released`, or the same with more at the end that no caller has to know. */
static bool keeps(const char *line, size_t size, const char *released, size_t released_size)
{
    bool is_function = strncmp(line, "function ", 9) == 0;

    if (size < released_size || strncmp(line, released, released_size) != 0)
        return false;
    for (const char *at = line + released_size; at < line + size;) {
        const char *end;

        if (released[released_size - 1] != '|' || at > line + released_size) {
            if (strncmp(at, ", ", 2) != 0)
                return false;
            at += 2;
        }
        end = at;
        while (end < line + size && strncmp(end, ", ", 2) != 0)
            end++;
        char *added = strndup(at, (size_t)(end - at));
        bool has_default = strstr(added, " DEFAULT ") != NULL;
        free(added);
        if (is_function && !has_default)
            return false;
        at = end;
    }
    return true;
}

static bool any_keeps(const char *lines, const char *released, size_t released_size)
{
    for (const char *at = lines; *at; at += strspn(at, "\n")) {
        size_t size = strcspn(at, "\n");

        if (keeps(at, size, released, released_size))
            return true;
        at += size;
    }
    return false;
}

static const char *released_list(void)
{
    FILE *file = fopen(PAWL_TEST_SOURCE_DIR "/conformance/signatures.txt", "re");
    static char text[65536];

    if (!file)
        test_fail("cannot read signatures.txt");
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

PAWL_TEST_ON(postgres, signatures_of_the_last_release_are_kept)
{
    fixture *f = fixture_open(NULL);
    const char *now = fixture_text(f, SIGNATURES, fixture_store_options(f)->schema);
    const char *path = getenv("PAWL_TEST_SIGNATURES");
    int kept = 0;

    if (path) {
        FILE *file = fopen(path, "we");
        assert_non_null(file);
        fprintf(file, "%s\n", now);
        fclose(file);
    }
    for (const char *at = released_list(); *at; at += strspn(at, "\n")) {
        size_t size = strcspn(at, "\n");

        if (!any_keeps(now, at, size))
            test_fail("a program of the last release could not use this any more: arguments (with "
                      "a default) and columns may only be added at the end:\n%.*s",
                      (int)size, at);
        at += size;
        kept++;
    }
    assert_true(kept > 90);
}

static bool would_keep(const char *line, const char *released)
{
    return keeps(line, strlen(line), released, strlen(released));
}

PAWL_TEST_ON(postgres, a_changed_signature_is_noticed)
{
    const char *f = "function f|bigint|a uuid, b text DEFAULT NULL::text";

    assert_true(would_keep(f, f));
    assert_true(
        would_keep("function f|bigint|a uuid, b text DEFAULT NULL::text, c text DEFAULT ''", f));
    assert_true(would_keep("function f|bigint|a uuid DEFAULT NULL::uuid", "function f|bigint|"));
    assert_false(would_keep("function f|bigint|a uuid, b text DEFAULT NULL::text, c text", f));
    assert_false(would_keep("function f|bigint|a uuid", f));
    assert_false(would_keep("function f|bigint|a uuid, b text", f));
    assert_false(would_keep("function f|integer|a uuid, b text DEFAULT NULL::text", f));
    assert_false(would_keep("function f|bigint|z uuid, b text DEFAULT NULL::text", f));
    assert_false(would_keep("function g|bigint|a uuid, b text DEFAULT NULL::text", f));
    assert_true(would_keep("view v||a text, b text", "view v||a text"));
    assert_false(would_keep("view v||b text, a text", "view v||a text"));
    assert_false(would_keep("view v||a text[]", "view v||a text"));
}

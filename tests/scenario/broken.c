/* tests/scenario/broken.c - stores that are deliberately broken. */
#include "broken.h"

#include "test.h"

static const char *expand(fixture *f, const char *sql)
{
    return sql ? fixture_expand(f, sql) : NULL;
}

void broken_store_init(broken_store *b, fixture *f, const char *table, const broken *how)
{
    *b = (broken_store){.f = f, .how = how};
    if (!how)
        return;
    fixture_exec(f, "CREATE TABLE IF NOT EXISTS {saved} AS SELECT * FROM {%s} WHERE 1 = 0", table);
    b->save_sql = fixture_expand(
        f, test_note("DELETE FROM {saved}; INSERT INTO {saved} SELECT * FROM {%s}", table));
    b->before_sql = expand(f, how->before);
    b->after_sql = expand(f, how->after);
}

bool broken_store_is(const broken_store *b, int kind)
{
    return b->how && b->how->kind == kind;
}

void broken_store_before(const broken_store *b, int kind)
{
    if (!broken_store_is(b, kind))
        return;
    fixture_exec(b->f, "%s", b->save_sql);
    if (b->before_sql)
        fixture_exec(b->f, "%s", b->before_sql);
}

void broken_store_after(const broken_store *b, int kind)
{
    if (broken_store_is(b, kind) && b->after_sql)
        fixture_exec(b->f, "%s", b->after_sql);
}

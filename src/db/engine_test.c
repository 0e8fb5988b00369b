/* src/db/engine_test.c - parsing store URLs, and names of tables. */
#include <string.h>

#include "engine.h"
#include "test.h"

static void url_expect(const char *url, const char *engine_name, const char *target)
{
    const pawli_engine *engine = NULL;
    const char *found = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawli_url_parse(url, &engine, &found, &err), &err);
    assert_string_equal(engine->name, engine_name);
    assert_string_equal(found, target);
}

PAWL_TEST(sqlite_urls)
{
    url_expect("sqlite:app.db", "sqlite", "app.db");
    url_expect("sqlite:/var/lib/app.db", "sqlite", "/var/lib/app.db");
    url_expect("sqlite:///var/lib/app.db", "sqlite", "/var/lib/app.db");
    url_expect("sqlite::memory:", "sqlite", ":memory:");
    url_expect("sqlite:a=b.db", "sqlite", "a=b.db");
}

PAWL_TEST(postgres_urls_and_key_value_strings)
{
    url_expect("postgresql://u:p@h/d", "postgres", "postgresql://u:p@h/d");
    url_expect("postgres:///d", "postgres", "postgres:///d");
    url_expect("host=/run dbname=x", "postgres", "host=/run dbname=x");
}

PAWL_TEST(anything_else_is_refused_without_repeating_it)
{
    static const char *const bad[] = {"", "sqlite:", "mysql://u:secret@h/d", "app.db", "secret"};
    const pawli_engine *engine = NULL;
    const char *target = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    assert_status(PAWL_E_INVALID, pawli_url_parse(NULL, &engine, &target, &err), &err);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_status(PAWL_E_INVALID, pawli_url_parse(bad[i], &engine, &target, &err), &err);
        assert_null(strstr(err.message, "secret"));
        assert_non_null(strstr(err.message, "sqlite:"));
    }
    assert_null(engine);
}

PAWL_TEST(names_are_checked_because_they_become_sql)
{
    static const char *const bad[] = {
        "",    "1a",     "a-b",  "a b",      "Pawl",
        "a\"", "a;drop", "pg_x", "sqlite_x", "a23456789a123456789a123456789a123456789ab"};
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawli_names_check("my_app_2", "schema name", &err), &err);
    assert_ok(pawli_names_check("_", "schema name", &err), &err);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_status(PAWL_E_INVALID, pawli_names_check(bad[i], "schema name", &err), &err);
}

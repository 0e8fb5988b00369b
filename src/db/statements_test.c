/* src/db/statements_test.c - filling in table names. */
#include <stdlib.h>
#include <string.h>

#include "statements.h"
#include "test.h"

static void statements_expect(const pawli_engine_sql *engine, const char *text, const char *names,
                              const char *expected)
{
    char *filled = pawli_sql_fill_names(engine, text, names);

    assert_string_equal(filled, expected);
    free(filled);
}

PAWL_TEST(a_prefix_is_replaced_at_the_start_of_words_only)
{
    statements_expect(&pawli_sql_sqlite, "SELECT pawl_a.x, my_pawl_b, (pawl_c) -- pawl_d stays",
                      "q_", "SELECT q_a.x, my_pawl_b, (q_c) -- pawl_d stays");
    statements_expect(&pawli_sql_sqlite, "WHERE x = 'pawl_a' AND pawl_b", "q_",
                      "WHERE x = 'pawl_a' AND q_b");
}

PAWL_TEST(a_schema_is_replaced_as_a_whole_word)
{
    statements_expect(&pawli_sql_postgres, "CREATE SCHEMA pawl; pawl.claim() TO pawl_work, pawls",
                      "app", "CREATE SCHEMA \"app\"; \"app\".claim() TO pawl_work, pawls");
}

PAWL_TEST(inside_strings_only_a_schema_qualifier_is_replaced)
{
    statements_expect(&pawli_sql_postgres, "nextval('pawl.fence'), 'run pawl init', 'it''s pawl.'",
                      "app", "nextval('\"app\".fence'), 'run pawl init', 'it''s pawl.'");
}

PAWL_TEST(every_statement_of_both_engines_has_text)
{
    pawli_statements *statements = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawli_statements_new(&pawli_sql_postgres, "other", &statements, &err), &err);
    for (int i = 0; i < PAWLI_SQL_COUNT; i++) {
        assert_string_equal(pawli_sql_sqlite.statements[i].name,
                            pawli_sql_postgres.statements[i].name);
        const char *text = pawli_statements_text(statements, (enum pawli_sql)i);
        assert_non_null(strstr(text, "\"other\"."));
    }
    pawli_statements_free(statements);
}

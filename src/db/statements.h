/* src/db/statements.h - the SQL of one engine, with the store's table names filled in. */
#ifndef PAWLI_STATEMENTS_H
#define PAWLI_STATEMENTS_H

#include <stddef.h>

#include <pawl/error.h>

#include "scope.h"
#include "sql_names.h"

/* Compiled in from sql/ENGINE/ by scripts/embed-sql.py. */
typedef struct pawli_sql_text {
    const char *name;
    const char *text;
} pawli_sql_text;
typedef struct pawli_migration {
    int version;
    const char *name;
    const char *text;
} pawli_migration;
typedef struct pawli_engine_sql {
    const pawli_sql_text *statements; /* PAWLI_SQL_COUNT of them, in the order of enum pawli_sql */
    const pawli_migration *migrations;
    size_t migration_count;
    /* How names are written in the files: "pawl_" begins an identifier; "pawl" is a whole word. */
    const char *placeholder;
    int is_prefix;
    const char *const *row_columns; /* of all row tables of its statements; ends with NULL */
    const pawli_sql_text *testing;  /* installed by pawl/testing.h; ends with a NULL name */
    /* The functions, views and triggers: one script that creates them, or replaces those of an
     * older release. It writes the next two to the meta table. */
    int code_release;        /* of this library: 1.2.3 is 1002003 */
    const char *code_digest; /* of the script */
    const char *code;
} pawli_engine_sql;
#define PAWLI_SQL_DECLARE(engine) extern const pawli_engine_sql pawli_sql_##engine;
PAWLI_ENGINES(PAWLI_SQL_DECLARE)

typedef struct pawli_statements pawli_statements;

/*
 * `names` replaces the placeholder everywhere outside comments; inside a quoted string only
 * PostgreSQL's, and only as a qualifier: 'pawl.fence' but not 'run pawl init'.
 */
pawl_status pawli_statements_new(const pawli_engine_sql *engine, const char *names,
                                 pawli_statements **ret_statements, pawl_error *err);
void pawli_statements_free(pawli_statements *statements);
PAWLI_AUTO_DEFINE(pawli_statements, pawli_statements_free);
/* The text, borrowed. */
const char *pawli_statements_text(const pawli_statements *statements, enum pawli_sql sql);
const char *pawli_sql_name(enum pawli_sql sql);

/* A text of sql/ENGINE/testing/, borrowed; NULL: this engine has no such text. */
const char *pawli_sql_testing(const pawli_engine_sql *engine, const char *name);

/* Returns a text with its names filled in; the caller frees it. NULL when memory ran out. */
char *pawli_sql_fill_names(const pawli_engine_sql *engine, const char *text, const char *names);

#endif

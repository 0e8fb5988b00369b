/*
 * tests/crash/broken_sql.c - the product's own statements with one condition taken out.
 *
 * Linked with --wrap=pawli_statements_text: the driver prepares what is answered here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crash_campaign.h"
#include "statements.h"

const char *__real_pawli_statements_text(const pawli_statements *statements, enum pawli_sql sql);
const char *__wrap_pawli_statements_text(const pawli_statements *statements, enum pawli_sql sql);

static breakage broken;
static char text[16384];

void broken_sql_set(breakage b)
{
    broken = b;
}

/*
 * Everywhere in the file. It must have the words: a test that breaks nothing would prove nothing.
 */
static const char *replace(const char *whole, const char *words, const char *by)
{
    const char *found = strstr(whole, words);
    size_t size = 0;

    if (!found) {
        fprintf(stderr, "broken_sql.c: the statement does not say '%s'\n", words);
        abort();
    }
    for (; found; found = strstr(whole, words)) {
        size += (size_t)snprintf(text + size, sizeof text - size, "%.*s%s", (int)(found - whole),
                                 whole, by);
        whole = found + strlen(words);
    }
    snprintf(text + size, sizeof text - size, "%s", whole);
    return text;
}

/* Only one connection writes, and it keeps what it has prepared: one text at a time is enough. */
const char *__wrap_pawli_statements_text(const pawli_statements *statements, enum pawli_sql sql)
{
    const char *whole = __real_pawli_statements_text(statements, sql);

    if (broken == BREAK_FENCE && sql == PAWLI_SQL_ACK)
        return replace(whole, "q.fence = r.fence AND ", "");
    if (broken == BREAK_REAP && sql == PAWLI_SQL_REAP)
        return replace(whole, "SET retries = retries + (", "SET retries = retries + 0 * (");
    if (broken == BREAK_MARK && sql == PAWLI_SQL_CLAIM)
        return replace(whole, "1000 * pawli_must_last()", "0");
    if (broken == BREAK_LEASE && sql == PAWLI_SQL_LEASE_RELEASE)
        return replace(whole, " AND fence = :fence", " AND :fence > 0");
    return whole;
}

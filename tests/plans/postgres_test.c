/*
 * tests/plans/postgres_test.c - the cost of every statement on a queue of a million messages.
 *
 * The measure is the number of pages a statement touches, not its time. A B-tree over millions of
 * rows is four pages deep; one message has a row in at most four tables with at most ten index
 * entries between them, and a statement that changes it reads each a few times: some 45 pages. A
 * scan of any of the big tables touches thousands. PAWL_TEST_WHOLE=1: two million messages.
 */
#include "plans_fixture.h"

#if PAWL_TEST_POSTGRES
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "statements.h"

#define HALF_A_MILLION 500000
#define PAGES_PER_CALL 200
#define PAGES_PER_ROW 45
#define PAGES_PER_ROW_READ 12

/* A literal for one parameter; arrays for those of a row table. */
typedef struct literal {
    const char *statement; /* NULL: any */
    const char *name;
    const char *text;
} literal;

static const literal literals[] = {
    {"enqueue", "position", "ARRAY[0::bigint]"},
    {"enqueue", "message_id", "ARRAY['cccccccc-0000-4000-8000-000000000001'::uuid]"},
    {"enqueue", "topic", "ARRAY['busy']"},
    {"enqueue", "payload", "ARRAY['x'::bytea]"},
    {"enqueue", "type", "ARRAY[0::bigint]"},
    {"enqueue", "destination", "ARRAY[NULL::text]"},
    {"enqueue", "headers", "ARRAY[NULL::text]"},
    {"enqueue", "correlation_id", "ARRAY[NULL::text]"},
    {"enqueue", "priority", "ARRAY[0::bigint]"},
    {"enqueue", "due_at", "ARRAY[NULL::timestamptz]"},
    {"enqueue", "delay", "ARRAY[NULL::interval]"},
    {"enqueue", "expires_at", "ARRAY[NULL::timestamptz]"},
    {"enqueue", "ttl", "ARRAY[NULL::interval]"},
    {"enqueue", "max_attempts", "ARRAY[10::bigint]"},
    {"enqueue", "lease", "ARRAY[NULL::interval]"},
    {"enqueue", "retry_base", "ARRAY[NULL::interval]"},
    {"enqueue", "retry_max", "ARRAY[NULL::interval]"},
    {"enqueue", "retry_jitter", "ARRAY[NULL::interval]"},
    {"enqueue", "timeout", "ARRAY[NULL::interval]"},
    {"enqueue", "heartbeat", "ARRAY[NULL::interval]"},
    {"enqueue", "count_all", "ARRAY[NULL::boolean]"},
    {"enqueue", "ordering_key", "ARRAY[NULL::text]"},
    {"enqueue", "unique_key", "ARRAY[NULL::text]"},
    {"enqueue", "tags", "ARRAY[NULL::text]"},
    {"job_advance", "step", "ARRAY[0, 4]::bigint[]"},
    {"job_advance", "seen", "ARRAY[2, 2]::bigint[]"},
    {"job_advance", "run_id", "ARRAY[NULL, NULL]::bigint[]"},
    {"job_advance", "occurrence", "ARRAY[NULL, now()]"},
    {"job_advance", "last_occurrence", "ARRAY[NULL, NULL]::timestamptz[]"},
    {"job_advance", "due", "ARRAY[NULL, NULL]::timestamptz[]"},
    {"job_advance", "next_check_at", "ARRAY[NULL, NULL]::timestamptz[]"},
    {"job_advance", "since", "ARRAY[now(), NULL]"},
    {"job_advance", "anchor", "ARRAY[now(), NULL]"},
    {"job_advance", "occurrences", "ARRAY[1, 1]::bigint[]"},
    {"job_advance", "occurrences_more", "ARRAY[false, false]"},
    {"job_advance", "in_line", "ARRAY[false, true]"},
    {"job_advance", "awaits", "ARRAY[false, false]"},
    {"job_advance", "problem", "ARRAY[NULL, NULL]::text[]"},
    {"job_advance", "message_id", "ARRAY[NULL, 'cccccccc-0000-4000-8000-000000000002'::uuid]"},
    {"job_advance", "planned_at", "ARRAY['epoch'::timestamptz, NULL]"},
    {"job_advance", "rewinds", "ARRAY[false, false]"},
    {"job_put", "lease", "interval '2 minutes'"},
    {"job_put", "topic", "'jobs'"},
    {"job_put", "payload", "'x'::bytea"},
    {"job_put", "priority", "0::bigint"},
    {"job_put", "headers", "NULL::text"},
    {"job_put", "max_attempts", "NULL::bigint"},
    {"job_put", "ttl", "NULL::interval"},
    {"job_put", "retry_base", "NULL::interval"},
    {"job_put", "retry_max", "NULL::interval"},
    {"job_put", "retry_jitter", "NULL::interval"},
    {"job_put", "timeout", "NULL::interval"},
    {"job_put", "heartbeat", "interval '30 s'"},
    {"job_run", "id", "1::bigint"},
    {"job_trigger", "message_id", "'cccccccc-0000-4000-8000-000000000003'::uuid"},
    {"job_", "name", "'x'"},
    {"job_", "job", "'x'"},
    {"job_", "states", "255::bigint"},
    {"clock_reset", "force", "false"},
    {"clock_reset", "dry_run", "true"},
    {NULL, "schedule", "'@daily'"},
    {NULL, "zone", "'UTC'"},
    {NULL, "type_name", "'signal'"},
    {NULL, "misfire", "'once'"},
    {NULL, "misfire_cap", "100::bigint"},
    {NULL, "misfire_grace", "interval '60 s'"},
    {NULL, "overlap", "'skip'"},
    {NULL, "jitter", "interval '0'"},
    {NULL, "keep_runs", "100::bigint"},
    {NULL, "keep_age", "NULL::interval"},
    {NULL, "enabled", "true"},
    {NULL, "force", "true"},
    {NULL, "with_output", "true"},
    {"ack_output", "output", "ARRAY['x'::bytea]"},
    {"abandon", "delay", "NULL::interval"},
    {"defer", "delay", "NULL::interval"},
    {"wake", "destination", "'there'"},
    {"wake", "error_prefix", "NULL::text"},
    {"timer_cancel", "message_id", "ARRAY['cccccccc-0000-4000-8000-000000000001'::uuid]"},
    {NULL, "destination", "NULL::text"},
    {NULL, "after_due", "NULL::timestamptz"},
    {NULL, "after_id", "0::bigint"},
    {NULL, "due_before", "NULL::timestamptz"},
    {"dead_abandon", "delay", "NULL::interval"},
    {"topic_", "topic", "'busy'"},
    {"inbox_list", "source", "NULL::text"},
    {"inbox_retry", "source", "NULL::text"},
    {"inbox_retry", "id", "NULL::text"},
    {"inbox_purge", "source", "NULL::text"},
    {"inbox_purge", "id", "NULL::text"},
    {"inbox_", "source", "'few'"},
    {"inbox_", "id", "'held'"},
    {"inbox_", "fence", "1::bigint"},
    {"lease_", "name", "'name 7'"},
    {"lease_", "fence", "1::bigint"},
    {"lease_", "ttl", "interval '30 s'"},
    {NULL, "only_owned", "false"},
    {NULL, "after", "''"},
    {NULL, "by", "'x'"},
    {NULL, "reason", "'x'"},
    {NULL, "hash", "NULL::bytea"},
    {NULL, "endpoint", "NULL::text"},
    {NULL, "alone", "false"},
    {NULL, "holder", "NULL::text"},
    {NULL, "response", "'x'::bytea"},
    {NULL, "dead", "false"},
    {NULL, "max_attempts", "10::bigint"},
    {NULL, "wanted", "true"},
    {NULL, "text", "'x'"},
    {NULL, "base", "interval '1 s'"},
    {NULL, "max", "interval '60 s'"},
    {NULL, "owner_name", "'plans'"},
    {NULL, "lease", "interval '30 s'"},
    {NULL, "topics", "NULL::text[]"},
    {"claim_remote", "destinations", "ARRAY['idle', 'there', 'none']"},
    {"claim_remote", "limits", "ARRAY[50, 20, 50]::bigint[]"},
    {NULL, "destinations", "NULL::text[]"},
    {NULL, "others", "false"},
    {NULL, "after_lane", "0::bigint"},
    {NULL, "cursor_first", "0::bigint"},
    {NULL, "notes", "true"},
    {NULL, "cursor_since", "ARRAY[]::timestamptz[]"},
    {NULL, "error", "'x'"},
    {NULL, "local_base", "interval '1 s'"},
    {NULL, "local_max", "interval '60 s'"},
    {NULL, "local_jitter", "interval '0'"},
    {NULL, "remote_base", "interval '2 s'"},
    {NULL, "remote_max", "interval '300 s'"},
    {NULL, "remote_jitter", "interval '0.5 s'"},
    {NULL, "keep", "interval '7 days'"},
    {NULL, "states", "63::bigint"},
    {NULL, "topic", "NULL::text"},
    {NULL, "correlation_id", "NULL::text"},
    {NULL, "created_before", "NULL::timestamptz"},
    {NULL, "before", "9223372036854775807"},
    {NULL, "with_payload", "true"},
    {NULL, "limit", "50::bigint"},
    {NULL, "scan", "100::bigint"},
    {NULL, "cap", "100::bigint"},
    {NULL, "idle_worker", "'5ee9e700-0000-4000-8000-000000000001'::uuid"},
    {NULL, "present", "true"},
    {NULL, "epoch", "NULL::bigint"},
};

static bool is(const char *statement, const char *names)
{
    return strstr(names, test_note(" %s ", statement)) != NULL;
}

/* Parameters whose values are only known at run time. */
static const char *made_literal(const plans_fixture *w, const char *statement, const char *name)
{
    char uuid[PAWL_UUID_TEXT_SIZE];

    if (strcmp(name, "owner") == 0)
        pawl_owner_format(queue_owner(1), uuid);
    else
        pawl_uuid_format(w->find, uuid);
    if (strcmp(name, "owner") == 0 || strcmp(name, "message_id") == 0)
        return test_note("'%s'::uuid", uuid);
    if (strcmp(name, "job_id") == 0)
        return test_note("ARRAY[%lld, %lld]::bigint[]", (long long)w->job, (long long)w->job);
    if (strcmp(name, "fence") == 0)
        return test_note("ARRAY[%lld::bigint]", (long long)w->fence);
    if (strcmp(name, "id") != 0)
        return NULL;
    if (strcmp(statement, "get") == 0)
        return test_note("%lld::bigint", (long long)w->ready);
    return test_note("ARRAY[%lld::bigint]",
                     (long long)(is(statement, " retry purge dead_done dead_abandon dead_renew ")
                                     ? w->dead
                                 : is(statement, " cancel ") ? w->ready
                                                             : w->leased));
}

static const char *find_literal(const plans_fixture *w, const char *statement, const char *name)
{
    const char *made;

    for (size_t i = 0; i < COUNT_OF(literals); i++)
        if (strcmp(literals[i].name, name) == 0 &&
            (!literals[i].statement ||
             strncmp(statement, literals[i].statement, strlen(literals[i].statement)) == 0))
            return literals[i].text;
    made = made_literal(w, statement, name);
    if (!made)
        test_fail("the parameter %s of %s has no value in this test", name, statement);
    return made;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || c == '_';
}

/* The statement's text with a literal for every ":name", without its comment lines. */
static const char *with_literals(const plans_fixture *w, const pawli_sql_text *sql,
                                 const char *text)
{
    char *out = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&out, &size);
    const char *kept;

    if (!stream)
        abort();
    for (const char *at = text; *at;) {
        if (at[0] == '-' && at[1] == '-') {
            at += strcspn(at, "\n");
        } else if (at[0] == ':' && is_word(at[1]) && (at == text || at[-1] != ':')) {
            size_t length = 0;

            while (is_word(at[1 + length]))
                length++;
            fputs(find_literal(w, sql->name, test_note("%.*s", (int)length, at + 1)), stream);
            at += 1 + length;
        } else if (*at == ';') {
            at++;
        } else {
            fputc(*at++, stream);
        }
    }
    fclose(stream);
    kept = test_note("%s", out);
    free(out);
    return kept;
}

/* One statement on the connection under test; the first column of the first row. */
static const char *ask_fixture(fixture *f, int which, const char *sql)
{
    PGresult *result = PQexec(fixture_postgres(f, which), sql);
    const char *value = NULL;

    if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK) {
        const char *problem = test_note("%s", PQresultErrorMessage(result));

        PQclear(result);
        test_fail("%s\nwas refused: %s", sql, problem);
    }
    if (PQntuples(result) > 0)
        value = test_note("%s", PQgetvalue(result, 0, 0));
    PQclear(result);
    return value;
}

static int64_t number_after(const char *json, const char *key)
{
    const char *at = strstr(json, key);

    return at ? strtoll(at + strlen(key), NULL, 10) : 0;
}

/* How many pages the statement touches; the first such numbers are those of the whole plan. */
static int64_t pages(fixture *f, int which, const char *sql)
{
    const char *json;

    ask_fixture(f, which, "BEGIN");
    json = ask_fixture(f, which, test_note("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) %s", sql));
    ask_fixture(f, which, "ROLLBACK");
    assert_non_null(json);
    return number_after(json, "\"Shared Hit Blocks\": ") +
           number_after(json, "\"Shared Read Blocks\": ") +
           number_after(json, "\"Temp Read Blocks\": ") +
           number_after(json, "\"Temp Written Blocks\": ");
}

/* The limit, scan and cap of the literals say how many rows a statement may read. */
static int64_t bound(const char *statement)
{
    if (is(statement, " claim claim_remote expire prune dead_claim inbox_retry inbox_purge"
                      " inbox_clean lease_clean job_due job_list job_clean "))
        return PAGES_PER_CALL + PLANS_BATCH * PAGES_PER_ROW;
    if (is(statement, " reap ")) /* fifty claims of two messages each */
        return PAGES_PER_CALL + 2 * PLANS_BATCH * PAGES_PER_ROW;
    if (is(statement,
           " list_any list_dead list_unfinished inbox_list_any inbox_list_dead"
           " inbox_list_unfinished inbox_stats timer_pending timer_count lease_list job_runs "))
        return PAGES_PER_CALL + 2 * 100 * PAGES_PER_ROW_READ;
    if (is(statement, " stats ")) /* five lanes */
        return PAGES_PER_CALL + 5 * 100 * PAGES_PER_ROW_READ;
    if (is(statement, " destinations ")) /* those of plans_fixture.c, one probe each */
        return PAGES_PER_CALL + 3 * PAGES_PER_ROW;
    if (is(statement, " owned ")) /* all that the owner's three claims took */
        return PAGES_PER_CALL + (4 * PLANS_BATCH + 10) * PAGES_PER_ROW_READ;
    if (is(statement, " compact_stats ")) /* the deltas that are there */
        return PAGES_PER_CALL + 300 * PAGES_PER_ROW_READ;
    return PAGES_PER_CALL;
}

static void postgres_measure(const plans_fixture *w, int which, const char *when)
{
    const char *schema = fixture_store_options(w->f)->schema;
    int64_t worst = 0, worst_bound = 1;
    const char *worst_name = NULL;

    for (size_t i = 0; i < PAWLI_SQL_COUNT; i++) {
        const pawli_sql_text *sql = &pawli_sql_postgres.statements[i];
        char *text = pawli_sql_fill_names(&pawli_sql_postgres, sql->text, schema);
        const char *query;
        int64_t touched;

        if (i == PAWLI_SQL_GRANT_ROLES) { /* the catalogue's pages, and none of the messages */
            free(text);
            continue;
        }
        assert_non_null(text);
        if (is(sql->name, " clock_reset ")) { /* reads everything, and is run manually */
            free(text);
            continue;
        }
        query = with_literals(w, sql, text);
        free(text);
        pages(w->f, which, query); /* the first call of a session also reads the catalog */
        touched = pages(w->f, which, query);
        /* So does one after others, on the same server, made or dropped tables meanwhile. */
        for (int again = 0; touched > bound(sql->name) && again < 5; again++)
            touched = pages(w->f, which, query);
        if (touched > bound(sql->name))
            test_fail("%s: %s touches %lld pages, more than %lld", when, sql->name,
                      (long long)touched, (long long)bound(sql->name));
        if (touched * 100 / bound(sql->name) >= worst * 100 / worst_bound) {
            worst = touched;
            worst_bound = bound(sql->name);
            worst_name = sql->name;
        }
    }
    printf("# %s: nearest to its bound is %s with %lld of %lld pages\n", when, worst_name,
           (long long)worst, (long long)worst_bound);
}

static plans_fixture open_world(void)
{
    plans_fixture w = {.f = fixture_open(NULL)};
    static const char *const tables[] = {"body",         "queue", "outcome", "claim",  "dead",
                                         "inbox_record", "lease", "job",     "job_run"};

    plans_lanes(w.f);
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        /* Autovacuum does not analyze here; and a million rows load faster unlogged. */
        fixture_exec(w.f, "ALTER TABLE {%s} SET (autovacuum_enabled = off)", tables[i]);
        fixture_exec(w.f, "ALTER TABLE {%s} SET UNLOGGED", tables[i]);
    }
    return w;
}

PAWL_TEST_ON(postgres, every_statement_touches_few_pages_of_a_million_messages)
{
    plans_fixture w = open_world();
    int64_t many = test_choose(HALF_A_MILLION, 2 * HALF_A_MILLION);

    ask_fixture(w.f, 0, "SET plan_cache_mode = force_generic_plan");
    postgres_measure(&w, 0, "empty tables"); /* and this session keeps the plans it made now */
    plans_fill(w.f, many, many);
    plans_people(&w);
    postgres_measure(&w, 0, "plans made for empty tables");
    ask_fixture(w.f, 1, "SET plan_cache_mode = force_generic_plan");
    postgres_measure(&w, 1, "no statistics");
    fixture_exec(
        w.f, "ANALYZE {body}, {queue}, {outcome}, {claim}, {lane}, {inbox_record}, {lease}, {job}, "
             "{job_run}");
    postgres_measure(&w, 1, "after ANALYZE, old session");
    ask_fixture(w.f, 2, "SET plan_cache_mode = force_generic_plan");
    postgres_measure(&w, 2, "after ANALYZE, new session");
}
#endif

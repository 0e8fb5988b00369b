/*
 * examples/effect_once.c - charges an account exactly once per message, despite crashes.
 *
 *     effect_once [URL]        sqlite:effect_once.db, or a PostgreSQL URL
 *
 * Every message charges the account. The handler changes the balance in the transaction that
 * also acknowledges its message, so both are committed or neither is. To demonstrate this, the
 * example injects failures: three worker processes die after changing the balance and before the
 * commit, and the leases of some messages expire before the commit. The final
 * balance is still correct.
 *
 * Build it against an installed pawl:
 *     cc effect_once.c $(pkg-config --cflags --libs pawl) -lsqlite3 -lpq
 */
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <libpq-fe.h>
#include <pawl/pawl.h>
#include <sqlite3.h>

#define CHARGES 60
#define AMOUNT 5
#define CRASHES 3
/* The lease, after which a dead worker's message is ready again: three times SQLite's longest
 * write transaction. */
#define LEASE_MS 3000

/* The example exits on any unexpected error; an application would check err->retryable. */
static void expect(pawl_status status, const pawl_error *err)
{
    if (status == PAWL_OK)
        return;
    pawl_error_print(stderr, err);
    exit(1);
}

/* ---- the application's own tables, on either engine ---- */

static int64_t first_value; /* the first value of the last query */

static int read_value(void *context, int columns, char **values, char **names)
{
    (void)context;
    (void)columns;
    (void)names;
    first_value = values[0] ? strtoll(values[0], NULL, 10) : 0;
    return 0;
}

/* Runs a statement on whichever handle is not NULL. */
static bool run(sqlite3 *sqlite, PGconn *postgres, const char *sql)
{
    if (sqlite)
        return sqlite3_exec(sqlite, sql, read_value, NULL, NULL) == SQLITE_OK;
    PGresult *result = PQexec(postgres, sql);
    ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_TUPLES_OK && PQntuples(result) > 0)
        first_value = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

/* Runs one statement outside of any message, on its own connection. */
static int64_t ask(const char *url, const char *sql)
{
    bool is_sqlite = strncmp(url, "sqlite:", 7) == 0;
    sqlite3 *sqlite = NULL;
    PGconn *postgres = NULL;

    if (is_sqlite)
        sqlite3_open(url + 7, &sqlite);
    else
        postgres = PQconnectdb(url);
    if (sqlite)
        sqlite3_busy_timeout(sqlite, 10000);
    first_value = 0;
    if (!run(sqlite, postgres, sql)) {
        fprintf(stderr, "%s: %s\n", sql,
                is_sqlite ? sqlite3_errmsg(sqlite) : PQerrorMessage(postgres));
        exit(1);
    }
    sqlite3_close(sqlite);
    PQfinish(postgres);
    return first_value;
}

static pawl_store *open_store(const char *url)
{
    pawl_store_options options = PAWL_STORE_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store = NULL;

    options.deploy_schema = true;
    options.schema = "pawl_example"; /* PostgreSQL: use a schema of its own in the database */
    expect(pawl_store_open(url, &options, &store, &err), &err);
    return store;
}

/* ---- the worker process ---- */

typedef struct charger {
    pawl_worker *worker;
    bool dies; /* in the middle of its first message */
    int calls, charged, refused;
    int64_t left; /* how many messages to handle before exiting */
} charger;

/* Simulates an expired lease: the message is ready again, and this worker no longer owns it. */
static void expire_lease(charger *c, pawl_task *task)
{
    pawl_receipt item = {pawl_message_work_id(pawl_task_message(task)), pawl_task_fence(task)};
    pawl_error err = PAWL_ERROR_INIT;

    expect(pawl_queue_release(pawl_task_store(task), pawl_worker_owner(c->worker), &item, 1, NULL,
                              &err),
           &err);
}

static pawl_result charge(pawl_task *task, void *context)
{
    charger *c = context;
    char sql[80];
    pawl_error err = PAWL_ERROR_INIT;
    pawl_tx *tx = NULL;
    pawl_status st;

    snprintf(sql, sizeof sql, "UPDATE example_account SET balance = balance - %d", AMOUNT);
    if (!c->dies && ++c->calls % 7 == 0)
        expire_lease(c, task);
    st = pawl_task_begin(task, &tx, &err);
    if (st == PAWL_OK && !run(pawl_tx_sqlite(tx), pawl_tx_postgres(tx), sql))
        st = PAWL_E_STORE;
    if (c->dies)
        raise(SIGKILL); /* the balance is changed but not committed */
    if (st == PAWL_OK)
        st = pawl_tx_commit_with_ack(tx, &err); /* commits the balance and the acknowledgement
                                                 * together */
    pawl_tx_free(tx);
    if (st == PAWL_OK)
        c->charged++;
    else
        c->refused++;
    if (st == PAWL_OK && --c->left == 0)
        pawl_worker_request_stop(c->worker);
    return st == PAWL_OK ? PAWL_DONE : PAWL_RETRY;
}

/* effect_once URL TOPIC COUNT: handles COUNT messages; 0: dies while handling the first. */
static int work(const char *url, const char *topic, const char *count)
{
    charger c = {.left = strtoll(count, NULL, 10)};
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store = open_store(url);

    c.dies = c.left == 0;
    options.concurrency = 1;
    options.lease_ms = LEASE_MS;
    options.maintenance_interval_ms[PAWL_MAINTENANCE_REAP] = 100;
    expect(pawl_worker_new(store, &options, &c.worker, &err), &err);
    expect(pawl_worker_handle(c.worker, topic, charge, &c, NULL, &err), &err);
    expect(pawl_worker_run(c.worker, &err), &err);
    printf("worker %d: %d charges, %d rolled back because the lease was lost\n", (int)getpid(),
           c.charged, c.refused);
    pawl_worker_free(c.worker);
    pawl_store_close(store);
    return 0;
}

/* Runs this program as a worker process and returns its exit status. */
static int run_worker(const char *url, const char *topic, const char *count)
{
    char *const argv[] = {(char *)(uintptr_t) "effect_once", (char *)(uintptr_t)url,
                          (char *)(uintptr_t)topic, (char *)(uintptr_t)count, NULL};
    int status = -1;
    pid_t child;

    fflush(stdout);
    if (posix_spawn(&child, "/proc/self/exe", NULL, NULL, argv, environ) != 0 ||
        waitpid(child, &status, 0) != child) {
        perror("effect_once");
        exit(1);
    }
    return status;
}

/* ---- the main program ---- */

static void send_charges(const char *url, const char *topic)
{
    pawl_store *store = open_store(url);
    pawl_message_spec messages[CHARGES];
    pawl_error err = PAWL_ERROR_INIT;

    for (int i = 0; i < CHARGES; i++) {
        messages[i] = (pawl_message_spec)PAWL_MESSAGE_SPEC_INIT;
        messages[i].topic = topic;
        messages[i].payload = "";
        messages[i].backoff = (pawl_backoff){50, 50, 0};
    }
    expect(pawl_outbox_enqueue_batch(store, messages, CHARGES, NULL, &err), &err);
    pawl_store_close(store);
}

static int show(const char *url)
{
    char topic[64], count[16];

    /* A topic of its own, so that messages of an interrupted run are not counted. */
    snprintf(topic, sizeof topic, "charge.%d", (int)getpid());
    snprintf(count, sizeof count, "%d", CHARGES);
    (void)ask(url, "DROP TABLE IF EXISTS example_account");
    (void)ask(url, "CREATE TABLE example_account (balance bigint NOT NULL)");
    (void)ask(url, "INSERT INTO example_account VALUES (1000)");
    send_charges(url, topic);
    printf("the balance is 1000; %d messages charge %d each\n", CHARGES, AMOUNT);
    for (int i = 0; i < CRASHES; i++) {
        if (!WIFSIGNALED(run_worker(url, topic, "0")))
            return 1;
        printf("a worker died before its commit: the balance is still %" PRId64 "\n",
               ask(url, "SELECT balance FROM example_account"));
    }
    if (run_worker(url, topic, count) != 0)
        return 1;
    int64_t balance = ask(url, "SELECT balance FROM example_account");
    int64_t expected = 1000 - CHARGES * AMOUNT;
    printf("the balance is %" PRId64 ", as it should be %" PRId64 ": %s\n", balance, expected,
           balance == expected ? "every message charged once" : "WRONG");
    (void)ask(url, "DROP TABLE example_account");
    return balance == expected ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 4)
        return work(argv[1], argv[2], argv[3]);
    return show(argc > 1 ? argv[1] : "sqlite:effect_once.db");
}

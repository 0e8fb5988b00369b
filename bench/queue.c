/*
 * bench/queue.c - how many messages a second one thread sends and finishes, per engine.
 *
 *     queue DIRECTORY [CONNINFO]
 *
 * SQLite files are made in DIRECTORY, in both durabilities. CONNINFO is a PostgreSQL server; the
 * schema pawl_bench in it is dropped before and afterwards. Each figure is about one second of
 * work.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <pawl/pawl.h>
#if PAWL_BENCH_POSTGRES
#include <libpq-fe.h>
#endif

#define SCHEMA "pawl_bench"
#define MEASURE_SECONDS 1.0
#define BACKLOG 40000 /* messages waiting when the claims begin */
#define BATCH_MAX 1000
#define TARGETS_MAX 3

static const char payload[] =
    "{\"order\":4711,\"customer\":\"a name of usual length\",\"lines\":[1,2]}";

static void expect(pawl_status status, const pawl_error *err)
{
    if (status == PAWL_OK)
        return;
    fprintf(stderr, "bench: %s: %s\n", pawl_status_name(status), err->message);
    exit(1);
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Send `batch` messages in one call, one transaction. */
static size_t send_batch(pawl_store *store, size_t batch)
{
    static pawl_outgoing messages[BATCH_MAX];
    pawl_error err = PAWL_ERROR_INIT;

    for (size_t i = 0; i < batch; i++) {
        messages[i] = (pawl_outgoing)PAWL_OUTGOING_INIT;
        messages[i].topic = "bench";
        messages[i].payload = payload;
        messages[i].payload_size = sizeof payload - 1;
    }
    expect(pawl_outbox_enqueue_batch(store, messages, batch, NULL, &err), &err);
    return batch;
}

/* Claim up to `batch` messages, acknowledge them; two transactions. 0: nothing is left. */
static size_t claim_and_ack(pawl_store *store, size_t batch)
{
    static pawl_owner owner;
    pawl_held held[BATCH_MAX];
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;
    size_t count;

    if (pawl_owner_is_zero(owner))
        owner = pawl_owner_new();
    expect(pawl_queue_claim(store, owner, 60000, (int)batch, NULL, &list, &err), &err);
    count = pawl_messages_count(list);
    for (size_t i = 0; i < count; i++) {
        const pawl_message *message = pawl_messages_at(list, i);

        held[i] = (pawl_held){pawl_message_work_id(message), pawl_message_fence(message)};
    }
    if (count > 0)
        expect(pawl_queue_ack(store, owner, held, count, NULL, &err), &err);
    pawl_messages_free(list);
    return count;
}

/* Messages a second over MEASURE_SECONDS, or until there is nothing left to do. */
static double rate(pawl_store *store, size_t (*work)(pawl_store *, size_t), size_t batch)
{
    double start = seconds();
    double spent = 0;
    size_t total = 0;
    size_t done = 1;

    while (spent < MEASURE_SECONDS && done > 0) {
        done = work(store, batch);
        total += done;
        spent = seconds() - start;
    }
    return (double)total / spent;
}

static const struct measure {
    const char *name;
    size_t (*work)(pawl_store *store, size_t batch);
    size_t batch;
} measures[] = {
    {"enqueue, 1 per transaction", send_batch, 1},
    {"enqueue, 100 per transaction", send_batch, 100},
    {"claim and ack, 1 at a time", claim_and_ack, 1},
    {"claim and ack, 50 at a time", claim_and_ack, 50},
    {"claim and ack, 500 at a time", claim_and_ack, 500},
};
#define MEASURES (sizeof measures / sizeof measures[0])

typedef struct target {
    const char *name;
    char url[4096];
    pawl_durability durability;
    double rates[MEASURES];
} target;

static void drop_schema(const char *conninfo)
{
#if PAWL_BENCH_POSTGRES
    PGconn *connection = PQconnectdb(conninfo);
    PGresult *result = PQexec(connection, "SET client_min_messages = warning;"
                                          "DROP SCHEMA IF EXISTS " SCHEMA " CASCADE");

    if (PQresultStatus(result) != PGRES_COMMAND_OK) {
        fprintf(stderr, "bench: %s", PQerrorMessage(connection));
        exit(1);
    }
    PQclear(result);
    PQfinish(connection);
#else
    (void)conninfo;
#endif
}

static void show_progress(const char *target_name, const char *measure_name)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r%-14s %-40s\r", target_name, measure_name);
}

static void measure_target(target *t)
{
    pawl_store_options options = PAWL_STORE_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store = NULL;

    options.deploy_schema = true;
    options.schema = SCHEMA;
    options.durability = t->durability;
    expect(pawl_store_open(t->url, &options, &store, &err), &err);
    for (size_t i = 0; i < MEASURES; i++) {
        if (measures[i].work == claim_and_ack) {
            for (size_t filled = 0; filled < BACKLOG; filled += BATCH_MAX)
                send_batch(store, BATCH_MAX);
        }
        show_progress(t->name, measures[i].name);
        t->rates[i] = rate(store, measures[i].work, measures[i].batch);
    }
    show_progress("", "");
    pawl_store_close(store);
}

static void print_table(const target *targets, size_t count)
{
    printf("one thread, payloads of %zu bytes\n\n", sizeof payload - 1);
    printf("%-32s", "messages per second");
    for (size_t i = 0; i < count; i++)
        printf("%16s", targets[i].name);
    putchar('\n');
    for (size_t row = 0; row < MEASURES; row++) {
        printf("%-32s", measures[row].name);
        for (size_t i = 0; i < count; i++)
            printf("%16.0f", targets[i].rates[row]);
        putchar('\n');
    }
}

int main(int argc, char **argv)
{
    static target targets[TARGETS_MAX] = {
        {.name = "sqlite full", .durability = PAWL_DURABILITY_FULL},
        {.name = "sqlite normal", .durability = PAWL_DURABILITY_NORMAL},
        {.name = "postgres"},
    };
    size_t count = argc == 3 ? 3 : 2;

    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: queue DIRECTORY [CONNINFO]\n");
        return 64;
    }
    snprintf(targets[0].url, sizeof targets[0].url, "sqlite:%s/full.db", argv[1]);
    snprintf(targets[1].url, sizeof targets[1].url, "sqlite:%s/normal.db", argv[1]);
    if (count == 3) {
        snprintf(targets[2].url, sizeof targets[2].url, "%s", argv[2]);
        drop_schema(argv[2]);
    }
    for (size_t i = 0; i < count; i++)
        measure_target(&targets[i]);
    if (count == 3)
        drop_schema(argv[2]);
    print_table(targets, count);
    return 0;
}

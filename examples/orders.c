/*
 * examples/orders.c - a shop that never loses an order: an outbox in its own SQLite file.
 *
 *     orders FILE.db
 *
 * The shop writes an order and a message to ship it in one transaction: both are committed or
 * neither is. A worker with three threads handles the messages, and marks each order as shipped
 * in the transaction that acknowledges its message. One order needs a second attempt, one
 * becomes a dead letter until an operator fixes the cause, and one is never placed because its
 * transaction is rolled back.
 *
 * Build it against an installed pawl:
 *     cc orders.c $(pkg-config --cflags --libs pawl) -lsqlite3
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <pawl/pawl.h>
#include <sqlite3.h>

#define TOPIC "order.placed"
#define THREADS 3

typedef struct shop {
    const char *file;
    pawl_store *store;
    sem_t finished;           /* posted once per message that is shipped or becomes a dead letter */
    atomic_bool bigger_boxes; /* fixes the cause of the dead letter */
} shop;

static struct timespec started;

/* Prints one line: time, event. */
static void report(const char *who, const char *format, ...) PAWL_PRINTF(2, 3);
static void report(const char *who, const char *format, ...)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    struct timespec now;
    va_list arguments;

    pthread_mutex_lock(&one_at_a_time);
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("%6.2f s  %-9s ",
           difftime(now.tv_sec, started.tv_sec) + (double)(now.tv_nsec - started.tv_nsec) / 1e9,
           who);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    fflush(stdout);
    pthread_mutex_unlock(&one_at_a_time);
}

/* The example exits on any unexpected error; an application would check err->retryable. */
static void expect(pawl_status status, const pawl_error *err)
{
    if (status == PAWL_OK)
        return;
    pawl_error_print(stderr, err);
    exit(1);
}

static sqlite3 *open_database(const char *file)
{
    sqlite3 *db = NULL;

    if (sqlite3_open(file, &db) != SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", file, sqlite3_errmsg(db));
        exit(1);
    }
    sqlite3_busy_timeout(db, 10000);
    return db;
}

/* Runs one statement on the shop's tables; %Q and %lld are sqlite3_mprintf's. */
static void sql(sqlite3 *db, const char *format, ...)
{
    va_list arguments;
    char *text;

    va_start(arguments, format);
    text = sqlite3_vmprintf(format, arguments);
    va_end(arguments);
    if (!text || sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", text, sqlite3_errmsg(db));
        exit(1);
    }
    sqlite3_free(text);
}

/* The outbox: stores the order and its message in one transaction. */
static void place_order(shop *s, sqlite3 *db, const char *item, bool paid)
{
    pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_tx *tx = NULL;

    sql(db, "BEGIN IMMEDIATE");
    sql(db, "INSERT INTO orders (item) VALUES (%Q)", item);

    message.topic = TOPIC;
    message.payload = item;
    message.payload_size = strlen(item);
    message.backoff = (pawl_backoff){300, 3000, 0}; /* retry after 0.3 s, 0.6 s, ... */
    expect(pawl_tx_foreign_sqlite(s->store, db, &tx, &err), &err);
    expect(pawl_tx_enqueue(tx, &message, NULL, &err), &err);

    if (paid) {
        sql(db, "COMMIT");
        pawl_tx_committed(tx); /* wakes an idle worker */
        report("shop", "%s: ordered, row and message committed together", item);
    } else {
        sql(db, "ROLLBACK");
        report("shop", "%s: card declined, order and message rolled back", item);
    }
    pawl_tx_free(tx);
}

/* Packs and ships one order. Returns NULL on success, otherwise the error and whether a retry
 * may help. */
static const char *ship(shop *s, const char *item, int attempt, bool *ret_hopeless)
{
    *ret_hopeless = false;
    if (strcmp(item, "lamp") == 0 && attempt == 1)
        return "the carrier does not respond";
    if (strcmp(item, "piano") == 0 && !atomic_load(&s->bigger_boxes)) {
        *ret_hopeless = true;
        return "no box is large enough";
    }
    return NULL;
}

/* Marks the order as shipped and acknowledges its message in one transaction, so it is shipped
 * once. */
static pawl_status mark_shipped(pawl_task *task, const char *item, pawl_error *err)
{
    pawl_tx *tx = NULL;
    pawl_status st = pawl_task_begin(task, &tx, err);

    if (st == PAWL_OK) {
        sql(pawl_tx_sqlite(tx), "UPDATE orders SET shipped = 1 WHERE item = %Q", item);
        st = pawl_tx_commit_with_ack(tx, err);
    }
    pawl_tx_free(tx);
    return st;
}

/* The worker calls this for every order, on one of its threads. */
static pawl_result handle(pawl_task *task, void *context)
{
    shop *s = context;
    const pawl_message *message = pawl_task_message(task);
    const char *item = pawl_message_payload(message, NULL);
    pawl_error err = PAWL_ERROR_INIT;
    bool hopeless;
    const char *problem = ship(s, item, pawl_task_attempt(task), &hopeless);

    if (!problem && mark_shipped(task, item, &err) != PAWL_OK)
        problem = err.message;
    if (!problem) {
        report("worker", "%s: shipped, attempt %d", item, pawl_task_attempt(task));
        sem_post(&s->finished);
        return PAWL_DONE;
    }
    pawl_task_set_error(task, problem);
    if (hopeless) {
        report("worker", "%s: %s", item, problem);
        return PAWL_FAIL;
    }
    report("worker", "%s: %s, attempt %d of %d, retrying in 0.3 s", item, problem,
           pawl_task_attempt(task), pawl_message_max_attempts(message));
    return PAWL_RETRY;
}

/* The worker calls this for failed messages, after the failure is committed. */
static pawl_result handle_dead(pawl_task *task, void *context)
{
    shop *s = context;

    report("worker", "%s: became a dead letter",
           (const char *)pawl_message_payload(pawl_task_message(task), NULL));
    sem_post(&s->finished);
    return PAWL_DONE;
}

static pawl_worker *make_worker(shop *s)
{
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_worker *worker = NULL;

    options.concurrency = THREADS;
    options.maintenance_interval_ms[PAWL_MAINTENANCE_DEAD] = 50; /* shorter than usual, to keep
                                                                  * the example fast */
    expect(pawl_worker_new(s->store, &options, &worker, &err), &err);
    expect(pawl_worker_handle(worker, TOPIC, handle, s, NULL, &err), &err);
    expect(pawl_worker_handle_dead(worker, TOPIC, handle_dead, s, &err), &err);
    return worker;
}

/* Runs until pawl_worker_request_stop(); any number of threads and processes may run workers. */
static void *work(void *worker)
{
    pawl_error err = PAWL_ERROR_INIT;

    expect(pawl_worker_run(worker, &err), &err);
    return NULL;
}

static void wait_until_finished(shop *s, int count)
{
    while (count-- > 0)
        sem_wait(&s->finished);
}

/* What an operator would do with `pawl ls` and `pawl retry`. */
static void retry_dead_letters(shop *s)
{
    pawl_outbox_filter filter = PAWL_OUTBOX_FILTER_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;
    size_t retried_by_user = 0;

    filter.states = 1u << PAWL_STATE_FAILED;
    filter.with_payload = true;
    expect(pawl_outbox_list(s->store, &filter, &list, NULL, &err), &err);
    for (size_t i = 0; i < pawl_messages_count(list); i++) {
        const pawl_message *message = pawl_messages_at(list, i);

        report("shop", "dead letter: %s: %s", (const char *)pawl_message_payload(message, NULL),
               pawl_message_last_error(message));
    }
    pawl_messages_free(list);

    atomic_store(&s->bigger_boxes, true);
    expect(pawl_outbox_retry_matching(s->store, &filter, &retried_by_user, &err), &err);
    report("shop", "bigger boxes have arrived, %zu dead letter retried", retried_by_user);
}

int main(int argc, char **argv)
{
    shop s = {.file = argc == 2 ? argv[1] : NULL};
    pawl_store_options options = PAWL_STORE_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_worker *worker;
    pthread_t thread;
    sqlite3 *db;
    char url[4096];

    if (!s.file) {
        fprintf(stderr, "usage: orders FILE.db\n");
        return 64;
    }
    clock_gettime(CLOCK_MONOTONIC, &started);
    sem_init(&s.finished, 0, 0);
    db = open_database(s.file);
    sql(db, "CREATE TABLE IF NOT EXISTS orders ("
            "id INTEGER PRIMARY KEY, item TEXT NOT NULL, shipped INTEGER NOT NULL DEFAULT 0)");
    snprintf(url, sizeof url, "sqlite:%s", s.file);
    options.deploy_schema = true; /* pawl's tables, next to the shop's own */
    expect(pawl_store_open(url, &options, &s.store, &err), &err);
    report("shop", "opened %s, pawl %s", s.file, pawl_version());

    place_order(&s, db, "book", true);
    place_order(&s, db, "lamp", true);
    place_order(&s, db, "yacht", false);
    place_order(&s, db, "piano", true);
    place_order(&s, db, "kite", true);

    worker = make_worker(&s);
    if (pthread_create(&thread, NULL, work, worker) != 0)
        return 1;
    wait_until_finished(&s, 4);
    retry_dead_letters(&s);
    place_order(&s, db, "violin", true); /* an idle worker is woken at once: compare the times */
    wait_until_finished(&s, 2);

    pawl_worker_request_stop(worker); /* finishes running handlers and releases all leases */
    pthread_join(thread, NULL);
    pawl_worker_free(worker);
    report("shop", "closed: every paid order is shipped");
    pawl_store_close(s.store);
    sqlite3_close(db);
    return 0;
}

/*
 * tests/soak/soak_work_helper.c - a process with a worker for everything that the others send.
 *
 * soak_work_helper URL SCHEMA PREFIX FOLDER NAME [lease=MS] [retention=MS] [every=MS]: handles all
 * topics. single, flaky, timer, cross and url write a row of the application (soak_KIND) through
 * effect once; all others are marked in FOLDER. Maintenance runs
 * every `every` ms; 0: never by this worker. It says "ready"; SIGTERM stops it.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "application_sql.h"
#include "helper.h"
#include "marks.h"

#define THREADS 4
#define BATCH 50
#define AGAIN_MS 50
#define FLAKY_ATTEMPTS 3
#define SLOW_MS 10 /* of hoard: so that soak_hoard_helper.c gets its share */

typedef struct kind {
    const char *name;
    char table[32];
    char topic[32];
    marks marks;
} kind;

static kind effects[] = {
    {.name = "single"}, {.name = "flaky"}, {.name = "timer"}, {.name = "cross"}, {.name = "url"}};
static kind marked[] = {{.name = "batch"}, {.name = "job"}, {.name = "hoard"}, {.name = "probe"}};
static const kind *const slow = &marked[2];
static kind dead = {.name = "dead"};
static kind brief = {.name = "topic"};
static pawl_worker *worker;

static void on_stop(int number)
{
    (void)number;
    pawl_worker_request_stop(worker);
}

static long number_of(const pawl_task *task)
{
    return strtol(pawl_message_payload(pawl_task_message(task), NULL), NULL, 10);
}

static pawl_status write_once(const kind *k, pawl_task *task, pawl_error *err)
{
    pawl_tx *tx = NULL;
    pawl_status st = pawl_task_begin(task, &tx, err);

    if (st == PAWL_OK && application_insert(tx, k->table, number_of(task)))
        st = pawl_tx_commit_with_ack(tx, err);
    else if (st == PAWL_OK)
        st = PAWL_E_UNAVAILABLE;
    pawl_tx_free(tx);
    return st;
}

static pawl_result handle_effect(pawl_task *task, void *context)
{
    const kind *k = context;
    pawl_error err = PAWL_ERROR_INIT;

    if (strcmp(k->name, "flaky") == 0 && pawl_task_attempt(task) < FLAKY_ATTEMPTS) {
        pawl_task_set_error(task, "not yet");
        return PAWL_RETRY;
    }
    pawl_status st = write_once(k, task, &err);
    if (st == PAWL_OK || st == PAWL_E_LOST)
        return PAWL_DONE;
    pawl_task_set_retry_delay(task, AGAIN_MS);
    return PAWL_RETRY;
}

static pawl_result handle_marked(pawl_task *task, void *context)
{
    const kind *k = context;

    if (k == slow)
        poll(NULL, 0, SLOW_MS);
    marks_add(&k->marks, number_of(task));
    return PAWL_DONE;
}

/* Half of them at once, half of them at the last attempt. */
static pawl_result handle_failing(pawl_task *task, void *context)
{
    (void)context;
    pawl_task_set_error(task, "fails on purpose");
    return number_of(task) % 2 == 0 ? PAWL_FAIL : PAWL_RETRY;
}

static pawl_status add_handler(kind *k, pawl_handler handler, pawl_error *err)
{
    snprintf(k->table, sizeof k->table, "soak_%s", k->name);
    snprintf(k->topic, sizeof k->topic, "soak.%s", k->name);
    return pawl_worker_handle(worker, k->topic, handler, k, NULL, err);
}

static pawl_status add_handlers(const char *folder, pawl_error *err)
{
    pawl_status st = PAWL_OK;

    for (size_t i = 0; st == PAWL_OK && i < sizeof effects / sizeof effects[0]; i++)
        st = add_handler(&effects[i], handle_effect, err);
    for (size_t i = 0; st == PAWL_OK && i < sizeof marked / sizeof marked[0]; i++) {
        st = add_handler(&marked[i], handle_marked, err);
        if (!marks_open(&marked[i].marks, folder, marked[i].name))
            return PAWL_E_IO;
    }
    if (!marks_open(&dead.marks, folder, "dead") || !marks_open(&brief.marks, folder, "topic"))
        return PAWL_E_IO;
    if (st == PAWL_OK)
        st = add_handler(&dead, handle_failing, err);
    if (st == PAWL_OK)
        st = pawl_worker_handle_dead(worker, "soak.dead", handle_marked, &dead, err);
    if (st == PAWL_OK)
        st = pawl_worker_handle(worker, NULL, handle_marked, &brief, NULL, err);
    return st;
}

static void set_pace(pawl_worker_options *options, long every_ms)
{
    for (int i = 0; i < PAWL_MAINTENANCE_COUNT; i++)
        if (i != PAWL_MAINTENANCE_DEAD && i != PAWL_MAINTENANCE_SCHEDULE)
            options->maintenance_interval_ms[i] = every_ms;
    options->maintenance_interval_ms[PAWL_MAINTENANCE_DEAD] = 500;
}

static pawl_status run_worker(pawl_store *store, char **arguments, pawl_error *err)
{
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT;
    struct sigaction action = {.sa_handler = on_stop};
    pawl_status st;

    options.concurrency = THREADS;
    options.batch = BATCH;
    options.owner_name = arguments[5];
    set_pace(&options, 1000);
    for (char **option = arguments + 6; *option; option++) {
        const char *lease = helper_option(*option, "lease");
        const char *retention = helper_option(*option, "retention");
        const char *every = helper_option(*option, "every");
        if (lease)
            options.lease_ms = strtol(lease, NULL, 10);
        if (retention)
            options.retention_ms = strtol(retention, NULL, 10);
        if (every)
            set_pace(&options, strtol(every, NULL, 10));
    }
    st = pawl_worker_new(store, &options, &worker, err);
    if (st == PAWL_OK)
        st = add_handlers(arguments[4], err);
    if (st != PAWL_OK)
        return st;
    sigaction(SIGTERM, &action, NULL);
    helper_say("ready");
    return pawl_worker_run(worker, err);
}

int main(int argc, char **argv)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store;

    if (argc < 6) {
        fprintf(stderr,
                "usage: soak_work_helper URL SCHEMA PREFIX FOLDER NAME [OPTION=VALUE...]\n");
        return 64;
    }
    store = helper_open(argv);
    if (!store)
        return 1;
    pawl_status st = run_worker(store, argv, &err);
    pawl_worker_free(worker);
    pawl_store_close(store);
    return st == PAWL_OK ? 0 : helper_complain("work", &err);
}

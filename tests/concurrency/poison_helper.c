/*
 * tests/concurrency/poison_helper.c - a receiver with a thread for each message, one of which kills
 * it.
 *
 * poison_helper URL SCHEMA PREFIX TABLE FILE: delivers every message that has not ended once, the
 * killer first. If the killer is new, all others are delivered while its handler runs, and what is
 * new of them runs beside it; then the process is killed. If the killer is not new, the others are
 * processed. TABLE is the application's. Exit status 0: it survived.
 */
#include "poison.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "application_sql.h"
#include "helper.h"

/* A delivery that waits for another one gives up after this: the killer waits for all others. */
#define TIMEOUT_MS 500

static poison *shared;
static pawl_store *store;
static const char *orders;
static sem_t answered; /* posted by each of the others when its delivery has a result */
static bool killer_is_new;
static atomic_int begun; /* handlers that run */

static bool write_order(pawl_tx *tx, int message)
{
    char sql[256];

    snprintf(sql, sizeof sql, "INSERT INTO %s VALUES (%d)", orders, message);
    return application_sql(tx, sql);
}

/* The delivery's answer; *ret_arrival is NULL if it failed. */
static bool deliver_message(int message, pawl_inbox_task **ret_arrival)
{
    pawl_inbox_options options = PAWL_INBOX_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    char id[16];

    options.max_attempts = POISON_ATTEMPTS;
    options.lease_ms = 30000;
    snprintf(id, sizeof id, "%d", message);
    pawl_status st =
        shared->call_out
            ? pawl_inbox_call(store, POISON_SOURCE, id, NULL, &options, ret_arrival, &err)
            : pawl_inbox_begin(store, POISON_SOURCE, id, NULL, &options, ret_arrival, &err);
    if (st != PAWL_OK)
        return false;
    if (pawl_inbox_task_result(*ret_arrival) == PAWL_INBOX_REJECTED) {
        atomic_store(&shared->refused[message], true);
        atomic_store(&shared->ended[message], true);
    }
    return pawl_inbox_task_result(*ret_arrival) == PAWL_INBOX_NEW;
}

static void process_message(pawl_inbox_task *arrival, int message)
{
    if (!shared->call_out && !write_order(pawl_inbox_task_tx(arrival), message))
        return;
    if (pawl_inbox_task_done(arrival, NULL, 0, NULL) != PAWL_OK)
        return;
    atomic_fetch_add(&shared->effects[message], 1);
    atomic_store(&shared->ended[message], true);
}

static void *receive_message(void *context)
{
    int message = (int)((atomic_bool *)context - shared->ended);
    pawl_inbox_task *arrival = NULL;
    bool is_new = deliver_message(message, &arrival);

    if (is_new && killer_is_new)
        atomic_fetch_add(&begun, 1);
    sem_post(&answered);
    while (is_new && killer_is_new)
        pause(); /* beside the killer, until the end */
    if (is_new)
        process_message(arrival, message);
    pawl_inbox_task_free(arrival);
    return NULL;
}

static int receive_all(void)
{
    pawl_inbox_task *killer = NULL;
    pthread_t threads[POISON_MESSAGES];
    int others = 0;

    killer_is_new =
        !atomic_load(&shared->ended[POISON_KILLER]) && deliver_message(POISON_KILLER, &killer);
    for (int i = 0; i < POISON_MESSAGES; i++)
        if (i != POISON_KILLER && !atomic_load(&shared->ended[i]) &&
            pthread_create(&threads[others++], NULL, receive_message, &shared->ended[i]) != 0)
            return 1;
    if (killer_is_new) {
        for (int i = 0; i < others; i++)
            sem_wait(&answered);
        if (atomic_load(&begun) + 1 > atomic_load(&shared->together))
            atomic_store(&shared->together, atomic_load(&begun) + 1);
        raise(SIGKILL);
    }
    while (others > 0)
        pthread_join(threads[--others], NULL);
    pawl_inbox_task_free(killer);
    return 0;
}

int main(int argc, char **argv)
{
    pawl_store_options opts = PAWL_STORE_OPTIONS_INIT;

    if (argc != 6 || !(shared = helper_map(argv[5], sizeof(poison)))) {
        fprintf(stderr, "usage: poison_helper URL SCHEMA PREFIX TABLE FILE\n");
        return 64;
    }
    opts.durability = PAWL_DURABILITY_NORMAL;
    opts.pool_size = 2 * POISON_MESSAGES;
    opts.timeout_ms = TIMEOUT_MS;
    orders = argv[4];
    sem_init(&answered, 0, 0);
    store = helper_open_with(argv, opts);
    if (!store)
        return POISON_BUSY;
    int status = receive_all();
    pawl_store_close(store);
    return status;
}

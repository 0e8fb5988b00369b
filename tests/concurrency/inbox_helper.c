/*
 * tests/concurrency/inbox_helper.c - one receiver of a storm of deliveries. It may be killed at any
 * time, and occasionally kills itself at a critical point.
 *
 * inbox_helper URL SCHEMA PREFIX TABLE FILE SEED: takes delivery after delivery until there are no
 * more. TABLE is the application's. Exit status 0: it got to the end.
 */
#include "inbox_storm.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "application_sql.h"
#include "helper.h"

static storm *shared;
static const char *orders;
static unsigned seed;

static void perhaps_die(void)
{
    seed = seed * 1103515245u + 12345u;
    if (shared->die_every > 0 && (seed >> 8) % (unsigned)shared->die_every == 0)
        raise(SIGKILL);
}

static bool write_order(pawl_tx *tx, long message)
{
    char sql[256];

    snprintf(sql, sizeof sql, "INSERT INTO %s VALUES (%ld)", orders, message);
    return application_sql(tx, sql);
}

/* The application deduplicates by the key it is given. */
static void call_application(const pawl_inbox_task *arrival, long message)
{
    char key[64];
    int calls = atomic_fetch_add(&shared->calls[message], 1);

    snprintf(key, sizeof key, STORM_SOURCE ":%ld", message);
    if (strcmp(key, pawl_inbox_task_key(arrival)) != 0 ||
        pawl_inbox_task_attempt(arrival) != calls + 1)
        atomic_fetch_add(&shared->wrong, 1);
    if (calls == 0)
        atomic_fetch_add(&shared->effects[message], 1);
}

static void process_message(pawl_inbox_task *arrival, long message)
{
    pawl_error err = PAWL_ERROR_INIT;
    char response[64];
    int size = snprintf(response, sizeof response, "response %ld", message);

    perhaps_die();
    if (shared->call_out)
        call_application(arrival, message);
    else if (!write_order(pawl_inbox_task_tx(arrival), message))
        return;
    perhaps_die();
    if (pawl_inbox_task_done(arrival, response, (size_t)size, &err) != PAWL_OK)
        atomic_fetch_add(&shared->failed, 1);
    else
        perhaps_die();
}

static void check_response(const pawl_inbox_task *arrival, long message)
{
    char expected[64];
    size_t size = 0;
    const char *response = pawl_inbox_task_response(arrival, &size);

    snprintf(expected, sizeof expected, "response %ld", message);
    if (!response || size != strlen(expected) || memcmp(response, expected, size) != 0)
        atomic_fetch_add(&shared->wrong, 1);
    atomic_fetch_add(&shared->duplicates, 1);
}

static void deliver_message(pawl_store *store, long message)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_inbox_options options = PAWL_INBOX_OPTIONS_INIT;
    pawl_inbox_task *arrival = NULL;
    uint8_t hash[PAWL_HASH_SIZE] = {(uint8_t)message};
    char id[32];
    pawl_status st;

    options.max_attempts = 1000;
    snprintf(id, sizeof id, "%ld", message);
    st = shared->call_out
             ? pawl_inbox_call(store, STORM_SOURCE, id, hash, &options, &arrival, &err)
             : pawl_inbox_begin(store, STORM_SOURCE, id, hash, &options, &arrival, &err);
    if (st != PAWL_OK) {
        fprintf(stderr, "# delivery of %ld: %s\n", message, err.message);
        atomic_fetch_add(pawl_status_retryable(st) ? &shared->failed : &shared->wrong, 1);
        return;
    }
    switch (pawl_inbox_task_result(arrival)) {
    case PAWL_INBOX_NEW:
        process_message(arrival, message);
        break;
    case PAWL_INBOX_DUPLICATE:
        check_response(arrival, message);
        break;
    case PAWL_INBOX_IN_PROGRESS:
        atomic_fetch_add(&shared->in_progress, 1);
        break;
    default:
        atomic_fetch_add(&shared->wrong, 1);
        break;
    }
    pawl_inbox_task_free(arrival);
}

/* A receiver that reaches such a delivery reports it: the test then kills a receiver. */
static void say_milestone(long k)
{
    if (k > 0 && k % storm_milestone(shared) == 0)
        helper_say("%ld", k);
}

int main(int argc, char **argv)
{
    pawl_store_options opts = PAWL_STORE_OPTIONS_INIT;
    pawl_store *store;
    long k;

    if (argc != 7 || !(shared = helper_map(argv[5], sizeof(storm)))) {
        fprintf(stderr, "usage: inbox_helper URL SCHEMA PREFIX TABLE FILE SEED\n");
        return 64;
    }
    opts.durability = PAWL_DURABILITY_NORMAL;
    opts.pool_size = 1;
    orders = argv[4];
    seed = (unsigned)strtoul(argv[6], NULL, 10);
    store = helper_open_with(argv, opts);
    if (!store)
        return 1;
    while ((k = atomic_fetch_add(&shared->next, 1)) < shared->messages * STORM_TIMES) {
        say_milestone(k);
        deliver_message(store, storm_message(shared, k));
    }
    pawl_store_close(store);
    return 0;
}

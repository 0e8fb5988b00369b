/*
 * tests/concurrency/inbox_helper.c - one receiver of a storm of deliveries. It may be killed at any
 * time, and now and then kills itself where it hurts.
 *
 * inbox_helper FILE URL SCHEMA PREFIX TABLE SEED: takes delivery after delivery until there are no
 * more. TABLE is the application's. Exit status 0: it got to the end.
 */
#include "inbox_storm.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <pawl/pawl.h>
#if PAWL_TEST_SQLITE
#include <sqlite3.h>
#endif
#if PAWL_TEST_POSTGRES
#include <libpq-fe.h>
#endif

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
    bool done = false;

    snprintf(sql, sizeof sql, "INSERT INTO %s VALUES (%ld)", orders, message);
#if PAWL_TEST_SQLITE
    if (pawl_tx_sqlite(tx))
        done = sqlite3_exec(pawl_tx_sqlite(tx), sql, NULL, NULL, NULL) == SQLITE_OK;
#endif
#if PAWL_TEST_POSTGRES
    if (pawl_tx_postgres(tx)) {
        PGresult *result = PQexec(pawl_tx_postgres(tx), sql);
        done = PQresultStatus(result) == PGRES_COMMAND_OK;
        PQclear(result);
    }
#endif
    return done;
}

/* The application deduplicates by the key it is given. */
static void call_application(const pawl_arrival *arrival, long message)
{
    char key[64];
    int calls = atomic_fetch_add(&shared->calls[message], 1);

    snprintf(key, sizeof key, STORM_SOURCE ":%ld", message);
    if (strcmp(key, pawl_arrival_key(arrival)) != 0 || pawl_arrival_attempt(arrival) != calls + 1)
        atomic_fetch_add(&shared->wrong, 1);
    if (calls == 0)
        atomic_fetch_add(&shared->effects[message], 1);
}

static void process(pawl_arrival *arrival, long message)
{
    pawl_error err = PAWL_ERROR_INIT;
    char response[64];
    int size = snprintf(response, sizeof response, "response %ld", message);

    perhaps_die();
    if (shared->call_out)
        call_application(arrival, message);
    else if (!write_order(pawl_arrival_tx(arrival), message))
        return;
    perhaps_die();
    if (pawl_arrival_done(arrival, response, (size_t)size, &err) != PAWL_OK)
        atomic_fetch_add(&shared->failed, 1);
    else
        perhaps_die();
}

static void check_response(const pawl_arrival *arrival, long message)
{
    char expected[64];
    size_t size = 0;
    const char *response = pawl_arrival_response(arrival, &size);

    snprintf(expected, sizeof expected, "response %ld", message);
    if (!response || size != strlen(expected) || memcmp(response, expected, size) != 0)
        atomic_fetch_add(&shared->wrong, 1);
    atomic_fetch_add(&shared->duplicates, 1);
}

static void deliver(pawl_store *store, long message)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_inbox_options options = PAWL_INBOX_OPTIONS_INIT;
    pawl_arrival *arrival = NULL;
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
    switch (pawl_arrival_answer(arrival)) {
    case PAWL_INBOX_NEW:
        process(arrival, message);
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
    pawl_arrival_free(arrival);
}

static storm *map(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *memory =
        fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(storm), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

int main(int argc, char **argv)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store_options opts = PAWL_STORE_OPTIONS_INIT;
    pawl_store *store = NULL;
    long k;

    if (argc != 7 || !(shared = map(argv[1]))) {
        fprintf(stderr, "usage: inbox_helper FILE URL SCHEMA PREFIX TABLE SEED\n");
        return 64;
    }
    opts.schema = *argv[3] ? argv[3] : NULL;
    opts.table_prefix = *argv[4] ? argv[4] : NULL;
    opts.durability = PAWL_DURABILITY_NORMAL;
    opts.pool_size = 1;
    orders = argv[5];
    seed = (unsigned)strtoul(argv[6], NULL, 10);
    if (pawl_store_open(argv[2], &opts, &store, &err) != PAWL_OK) {
        fprintf(stderr, "inbox_helper: %s\n", err.message);
        return 1;
    }
    while ((k = atomic_fetch_add(&shared->next, 1)) < shared->messages * STORM_TIMES)
        deliver(store, storm_message(shared, k));
    pawl_store_close(store);
    return 0;
}

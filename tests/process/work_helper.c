/*
 * tests/process/work_helper.c - a process with a worker whose handlers write rows of their own.
 *
 * work_helper URL SCHEMA PREFIX TABLE [block=N | block-after=N] [break=WHAT]: handles what
 * send_helper sends, on several threads: the number in the payload becomes a row of TABLE, through
 * effect once. It says
 *
 *     owner UUID             who it is; it begins now
 *     done NUMBER FROM TO    the row is committed; when the handler began and when it was done
 *     lost NUMBER            the commit was refused: another owner has the message
 *     again STATUS           the database failed; the message is put off
 *     blocked NUMBER         the N-th call waits before its effect (block) or after it
 * (block-after) until a byte comes in at the standard input
 *
 * The blocked call does not check whether the message is still its own: only the fence stops
 * it. SIGTERM and SIGINT stop the worker as they should. WHAT is a deliberate fault:
 *
 *     double    writes its row in a transaction of its own, then says that the message is done
 *     forget    says that the message is done and writes no row
 *     leave     SIGTERM ends the process at once
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "application_sql.h"
#include "helper.h"

#define THREADS 4
#define LEASE_MS 1500
#define REAP_EVERY_MS 100
#define AGAIN_MS 50

typedef struct job {
    const char *url;
    const char *table;
    long block_at; /* which call; 0: none */
    bool block_after;
    const char *broken; /* "": nothing is */
    pawl_store *store;
    atomic_long calls;
} job;

static pawl_worker *worker;
static bool leaves;

static void on_stop(int number)
{
    (void)number;
    if (leaves)
        _exit(0);
    pawl_worker_request_stop(worker);
}

static void block_call(long number)
{
    char byte;

    helper_say("blocked %ld", number);
    while (read(STDIN_FILENO, &byte, 1) < 0)
        continue;
}

static pawl_status begin_effect(const job *j, pawl_task *task, bool ask, pawl_tx **ret_tx,
                                pawl_error *err)
{
    pawl_receipt leased = {pawl_message_work_id(pawl_task_message(task)), pawl_task_fence(task)};

    if (ask)
        return pawl_task_begin(task, ret_tx, err);
    return pawl_tx_begin_for(j->store, pawl_worker_owner(worker), leased, ret_tx, err);
}

/* As it should be done: the row and the end of the message in one commit. */
static pawl_status write_once(const job *j, pawl_task *task, bool ask, long number, pawl_error *err)
{
    pawl_tx *tx = NULL;
    pawl_status st = begin_effect(j, task, ask, &tx, err);

    if (st == PAWL_OK && application_insert(tx, j->table, number))
        st = pawl_tx_commit_with_ack(tx, err);
    else if (st == PAWL_OK)
        st = PAWL_E_UNAVAILABLE;
    pawl_tx_free(tx);
    return st;
}

static pawl_status write_effect(const job *j, pawl_task *task, bool ask, long number,
                                pawl_error *err)
{
    if (strcmp(j->broken, "forget") == 0)
        return PAWL_OK;
    if (strcmp(j->broken, "double") == 0)
        return application_insert_outside(j->url, j->table, number) ? PAWL_OK : PAWL_E_UNAVAILABLE;
    return write_once(j, task, ask, number, err);
}

static pawl_result handle_number(pawl_task *task, void *context)
{
    job *j = context;
    bool is_blocked = atomic_fetch_add(&j->calls, 1) + 1 == j->block_at;
    long number = strtol(pawl_message_payload(pawl_task_message(task), NULL), NULL, 10);
    int64_t from_ms = helper_clock_ms();
    pawl_error err = PAWL_ERROR_INIT;

    if (is_blocked && !j->block_after)
        block_call(number);
    pawl_status st = write_effect(j, task, !is_blocked, number, &err);
    if (is_blocked && j->block_after)
        block_call(number);
    if (st == PAWL_OK) {
        helper_say("done %ld %lld %lld", number, (long long)from_ms, (long long)helper_clock_ms());
        return PAWL_DONE;
    }
    if (st == PAWL_E_LOST) {
        helper_say("lost %ld", number);
        return PAWL_DONE;
    }
    /* In doubt, too: if it was committed there is nothing left to put off. */
    helper_say("again %s", pawl_status_name(st));
    pawl_task_set_retry_delay(task, AGAIN_MS);
    return pawl_status_retryable(st) ? PAWL_RETRY : PAWL_FAIL;
}

static bool read_options(job *j, char **options)
{
    for (; *options; options++) {
        const char *before = helper_option(*options, "block");
        const char *after = helper_option(*options, "block-after");
        const char *broken = helper_option(*options, "break");

        if (before || after)
            j->block_at = strtol(before ? before : after, NULL, 10);
        j->block_after |= after != NULL;
        if (broken)
            j->broken = broken;
        if (!before && !after && !broken)
            return false;
    }
    leaves = strcmp(j->broken, "leave") == 0;
    return true;
}

static pawl_status run_worker(job *j, pawl_error *err)
{
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT;
    struct sigaction action = {.sa_handler = on_stop};
    char owner[PAWL_UUID_TEXT_SIZE];
    pawl_status st;

    options.concurrency = THREADS;
    options.lease_ms = LEASE_MS;
    options.maintenance_interval_ms[PAWL_MAINTENANCE_REAP] = REAP_EVERY_MS;
    st = pawl_worker_new(j->store, &options, &worker, err);
    if (st == PAWL_OK)
        st = pawl_worker_handle(worker, HELPER_TOPIC, handle_number, j, NULL, err);
    if (st != PAWL_OK)
        return st;
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    pawl_owner_format(pawl_worker_owner(worker), owner);
    helper_say("owner %s", owner);
    return pawl_worker_run(worker, err);
}

int main(int argc, char **argv)
{
    pawl_error err = PAWL_ERROR_INIT;
    job j = {.broken = ""};

    if (argc < 5 || !read_options(&j, argv + 5)) {
        fprintf(stderr, "usage: work_helper URL SCHEMA PREFIX TABLE [block=N] [break=WHAT]\n");
        return 64;
    }
    j.url = argv[1];
    j.table = argv[4];
    j.store = helper_open(argv);
    if (!j.store)
        return 1;
    pawl_status st = run_worker(&j, &err);
    pawl_worker_free(worker);
    pawl_store_close(j.store);
    return st == PAWL_OK ? 0 : helper_complain("work", &err);
}

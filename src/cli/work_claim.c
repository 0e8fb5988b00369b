/* src/cli/work_claim.c - claiming messages and starting their commands. */
#include <errno.h>
#include <string.h>

#include "database.h"
#include "environment.h"
#include "fail.h"
#include "mono.h"
#include "worker.h"

#define IDLE_FIRST_MS 10
#define STILL_COMMITTING_MS 5000

static cli_job *free_place(cli_worker *worker)
{
    for (size_t i = 0; i < worker->options->concurrency; i++)
        if (worker->jobs[i].phase == CLI_JOB_FREE)
            return &worker->jobs[i];
    return NULL;
}

static int room(const cli_worker *worker)
{
    int64_t places = 0;

    for (size_t i = 0; i < worker->options->concurrency; i++)
        places += worker->jobs[i].phase == CLI_JOB_FREE;
    if (worker->options->max > 0 && places > worker->options->max - worker->claimed)
        places = worker->options->max - worker->claimed;
    return (int)places;
}

static bool have_already(const cli_worker *worker, const pawl_message *message)
{
    for (size_t i = 0; i < worker->options->concurrency; i++) {
        const cli_job *job = &worker->jobs[i];
        if (job->phase != CLI_JOB_FREE &&
            job->held.id.value == pawl_message_work_id(message).value &&
            job->held.fence == pawl_message_fence(message))
            return true;
    }
    return false;
}

/* A message that can never be started must not circle; anything else is this machine's trouble:
 * give the message back and end, so that somebody looks. */
static void start_failed(cli_worker *worker, cli_job *job, int problem)
{
    job->phase = CLI_JOB_ANSWERING;
    job->answer_at = worker->now;
    if (problem == E2BIG) {
        job->verdict = CLI_VERDICT_ABANDON;
        job->error = cli_print("cannot start the command: %s", strerror(problem));
        return;
    }
    job->verdict = CLI_VERDICT_RELEASE;
    worker->stopping = true;
    if (worker->fatal == PAWL_OK)
        worker->fatal = cli_fail(&worker->fatal_error, PAWL_E_IO, "cannot start '%s': %s",
                                 worker->command.argv[0], strerror(problem));
}

static void start(cli_worker *worker, cli_batch *batch, const pawl_message *message,
                  pawl_mono seen_at, int64_t lease_ms)
{
    cli_job *job = free_place(worker);
    char **environment = cli_environment_new(message);
    size_t size;
    const void *payload = pawl_message_payload(message, &size);
    int problem;

    batch->users++;
    worker->claimed++;
    job->phase = CLI_JOB_RUNNING;
    job->batch = batch;
    job->message = message;
    job->held = (pawl_held){pawl_message_work_id(message), pawl_message_fence(message)};
    job->started = worker->now;
    job->lease_ms = lease_ms > 0 ? lease_ms : 1;
    job->lease_end = cli_mono_after(seen_at, job->lease_ms);
    job->renew_at = cli_mono_after(seen_at, job->lease_ms / 2);
    problem = cli_child_start(&job->child, &worker->command, environment, payload, size);
    cli_environment_free(environment);
    if (problem != 0)
        start_failed(worker, job, problem);
}

/* How long a lease is, is the message's own matter; the database's clock tells what is left. */
static void start_all(cli_worker *worker, pawl_messages *take_list, pawl_mono asked_at)
{
    cli_batch *batch = cli_alloc(1, sizeof *batch);
    pawl_mono seen_at = cli_mono_now();
    pawl_wall database_now;
    bool known = pawl_store_now(worker->store, &database_now, NULL) == PAWL_OK;

    batch->list = take_list;
    batch->users = 1; /* us, while we walk over it */
    worker->now = cli_mono_now();
    for (size_t i = 0; i < pawl_messages_count(take_list); i++) {
        const pawl_message *message = pawl_messages_at(take_list, i);
        int64_t left_ms = worker->options->lease_ms;
        if (have_already(worker, message) || !free_place(worker))
            continue;
        if (known)
            left_ms = (pawl_message_lease_until(message).us - database_now.us) / 1000;
        start(worker, batch, message, known ? seen_at : asked_at, left_ms);
    }
    if (--batch->users == 0) {
        pawl_messages_free(batch->list);
        free(batch);
    }
}

/* Whether the list has something that no job is at. */
static bool holds_more(const cli_worker *worker, const pawl_messages *list)
{
    for (size_t i = 0; i < pawl_messages_count(list); i++)
        if (!have_already(worker, pawl_messages_at(list, i)))
            return true;
    return false;
}

static bool is_asking(const cli_worker *worker)
{
    return worker->claim_unknown || !cli_mono_reached(worker->now, worker->ask_until);
}

/*
 * After a claim whose answer was lost: what do we hold? The server may still be at its commit, so
 * that "nothing" is believed only after a while; until then it is asked before every claim.
 */
static pawl_status ask(cli_worker *worker, pawl_messages **ret_list, pawl_error *err)
{
    pawl_messages *list = NULL;
    pawl_status st = pawl_queue_held(worker->store, worker->owner, &list, err);

    if (st != PAWL_OK)
        return st;
    if (worker->claim_unknown)
        worker->ask_until = cli_mono_after(worker->now, STILL_COMMITTING_MS);
    worker->claim_unknown = false;
    if (holds_more(worker, list))
        *ret_list = list;
    else
        pawl_messages_free(list);
    return PAWL_OK;
}

static pawl_status claim_or_ask(cli_worker *worker, int limit, pawl_messages **ret_list,
                                pawl_error *err)
{
    pawl_claim_options options = PAWL_CLAIM_OPTIONS_INIT;
    pawl_status st = PAWL_OK;

    options.topics = worker->options->topics;
    options.topic_count = worker->options->topic_count;
    if (is_asking(worker))
        st = ask(worker, ret_list, err);
    if (st != PAWL_OK || *ret_list)
        return st;
    st = pawl_queue_claim(worker->store, worker->owner, worker->options->lease_ms, limit, &options,
                          ret_list, err);
    if (st != PAWL_E_IN_DOUBT)
        return st;
    worker->claim_unknown = true;
    return ask(worker, ret_list, err);
}

static void wait_before_next(cli_worker *worker, bool found)
{
    worker->empty = !found && !is_asking(worker);
    if (found)
        worker->idle_ms = 0;
    else
        worker->idle_ms = worker->idle_ms ? worker->idle_ms * 2 : IDLE_FIRST_MS;
    if (worker->idle_ms > worker->options->poll_ms)
        worker->idle_ms = worker->options->poll_ms;
    worker->claim_at = cli_mono_after(worker->now, worker->idle_ms);
}

void cli_worker_claim(cli_worker *worker)
{
    int limit = room(worker);
    int64_t claimed_before = worker->claimed;
    pawl_mono asked_at = cli_mono_now();
    pawl_messages *list = NULL;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_status st;

    if (worker->stopping || limit <= 0 || !cli_mono_reached(worker->now, worker->claim_at) ||
        (worker->down && !cli_mono_reached(worker->now, worker->retry_at)))
        return;
    st = claim_or_ask(worker, limit, &list, &err);
    worker->now = cli_mono_now();
    if (!cli_worker_heard(worker, st, &err))
        return;
    if (pawl_messages_count(list) > 0)
        start_all(worker, list, asked_at);
    else
        pawl_messages_free(list);
    wait_before_next(worker, worker->claimed > claimed_before);
}

/* src/cli/work_answer.c - handing the verdict on a message to the database. */
#include <inttypes.h>
#include <stdlib.h>

#include "database.h"
#include "fail.h"
#include "mono.h"
#include "worker.h"

static pawl_status tell(cli_worker *worker, const cli_job *job, size_t *ret_changed,
                        pawl_error *err)
{
    pawl_store *store = worker->store;

    switch (job->verdict) {
    case CLI_VERDICT_ACK:
        return pawl_queue_ack(store, worker->owner, &job->held, 1, ret_changed, err);
    case CLI_VERDICT_FAIL:
        return pawl_queue_fail(store, worker->owner, &job->held, 1, job->error, ret_changed, err);
    case CLI_VERDICT_ABANDON:
        return pawl_queue_abandon(store, worker->owner, &job->held, 1, job->error,
                                  PAWL_DELAY_BY_POLICY, ret_changed, err);
    case CLI_VERDICT_RELEASE:
        return pawl_queue_release(store, worker->owner, &job->held, 1, ret_changed, err);
    default:
        *ret_changed = 0;
        return PAWL_OK;
    }
}

static void settle(cli_worker *worker, cli_job *job)
{
    worker->counts[job->verdict]++;
    worker->claim_at = worker->now; /* there is a free place, and perhaps the command sent more */
    worker->idle_ms = 0;
    worker->empty = false;
    cli_worker_report(worker, job);
    cli_job_clear(job);
}

static void drop(cli_worker *worker, cli_job *job, const char *why)
{
    job->verdict = CLI_VERDICT_DROP;
    free(job->error);
    job->error = cli_copy(why);
    settle(worker, job);
}

/* Nothing changed, but an earlier try may have been the one that did. */
static bool happened_before(cli_worker *worker, const cli_job *job)
{
    CLI_AUTO(pawl_messages) one = NULL;
    pawl_state state;

    if (!job->in_doubt)
        return false;
    if (job->verdict != CLI_VERDICT_ACK && job->verdict != CLI_VERDICT_FAIL)
        return true; /* released or abandoned: it is not ours any more, which was the aim */
    if (pawl_outbox_get(worker->store, job->held.id, &one, NULL) != PAWL_OK)
        return false;
    state = pawl_message_state(pawl_messages_at(one, 0));
    return job->verdict == CLI_VERDICT_ACK ? state == PAWL_STATE_DONE : state == PAWL_STATE_FAILED;
}

/* While the lease lasts nobody else may have the message, so the result is still wanted. */
static void try_later(cli_worker *worker, cli_job *job, const pawl_error *err)
{
    bool lease_over = cli_mono_reached(worker->now, job->lease_end);

    job->in_doubt |= err->status == PAWL_E_IN_DOUBT;
    if (lease_over || worker->hurry || !pawl_status_retryable(err->status)) {
        cli_note("the result of message %" PRId64 " could not be stored: %s", job->held.id.value,
                 err->message);
        drop(worker, job, "the result could not be stored");
        return;
    }
    job->answer_at = worker->retry_at;
}

void cli_worker_answer(cli_worker *worker, cli_job *job)
{
    pawl_error err = PAWL_ERROR_INIT;
    size_t changed = 0;
    pawl_status st;

    if (job->phase != CLI_JOB_ANSWERING)
        return;
    if (!worker->hurry && !cli_mono_reached(worker->now, job->answer_at))
        return;
    if (worker->down && !worker->hurry && !cli_mono_reached(worker->now, worker->retry_at)) {
        job->answer_at = worker->retry_at; /* one question at a time to a database that is away */
        return;
    }
    if (job->verdict == CLI_VERDICT_DROP) {
        settle(worker, job);
        return;
    }
    st = tell(worker, job, &changed, &err);
    worker->now = cli_mono_now();
    if (!cli_worker_heard(worker, st, &err))
        try_later(worker, job, &err);
    else if (changed == 1 || happened_before(worker, job))
        settle(worker, job);
    else
        drop(worker, job, "no longer ours");
}

/* src/cli/work_renew.c - keeping the leases of running commands. */
#include "mono.h"
#include "worker.h"
#include "memory.h"

#define RETRY_LEAST_MS 100

static bool wants_lease(const cli_job *job)
{
    return job->phase == CLI_JOB_RUNNING ||
           (job->phase == CLI_JOB_ENDING && job->verdict != CLI_VERDICT_DROP);
}

static void renewed(cli_job *job, pawl_mono asked_at)
{
    job->lease_end = cli_mono_after(asked_at, job->lease_ms);
    job->renew_at = cli_mono_after(asked_at, job->lease_ms / 2);
}

static void try_later(cli_job *job, pawl_mono now)
{
    int64_t wait_ms = job->lease_ms / 20;

    job->renew_at = cli_mono_after(now, wait_ms < RETRY_LEAST_MS ? RETRY_LEAST_MS : wait_ms);
}

/* One by one, to learn which of them is no longer ours. */
static void renew_one(cli_worker *worker, cli_job *job)
{
    pawl_mono asked_at = cli_mono_now();
    pawl_error err = PAWL_ERROR_INIT;
    size_t changed = 0;
    pawl_status st = pawl_queue_renew(worker->store, worker->owner, &job->held, 1,
                                      worker->options->lease_ms, &changed, &err);

    worker->now = cli_mono_now();
    if (!cli_worker_heard(worker, st, &err))
        try_later(job, worker->now);
    else if (changed == 1)
        renewed(job, asked_at);
    else
        cli_job_stop(job, worker->now, CLI_VERDICT_DROP, cli_copy("no longer ours"));
}

static void renew_all(cli_worker *worker, cli_job **due, size_t count)
{
    CLI_AUTO_FREE pawl_held *held = cli_alloc(count, sizeof *held);
    pawl_mono asked_at = cli_mono_now();
    pawl_error err = PAWL_ERROR_INIT;
    size_t changed = 0;
    pawl_status st;

    for (size_t i = 0; i < count; i++)
        held[i] = due[i]->held;
    st = pawl_queue_renew(worker->store, worker->owner, held, count, worker->options->lease_ms,
                          &changed, &err);
    worker->now = cli_mono_now();
    bool heard = cli_worker_heard(worker, st, &err);
    for (size_t i = 0; i < count; i++) {
        if (!heard)
            try_later(due[i], worker->now);
        else if (changed == count)
            renewed(due[i], asked_at);
        else
            renew_one(worker, due[i]);
    }
}

void cli_worker_renew(cli_worker *worker)
{
    CLI_AUTO_FREE cli_job **due = cli_alloc(worker->options->concurrency, sizeof(cli_job *));
    size_t count = 0;

    for (size_t i = 0; i < worker->options->concurrency; i++) {
        cli_job *job = &worker->jobs[i];
        if (wants_lease(job) && cli_mono_reached(worker->now, job->renew_at))
            due[count++] = job;
    }
    if (count > 0)
        renew_all(worker, due, count);
    for (size_t i = 0; i < worker->options->concurrency; i++) {
        cli_job *job = &worker->jobs[i];
        if (wants_lease(job) && cli_mono_reached(worker->now, job->lease_end))
            cli_job_stop(job, worker->now, CLI_VERDICT_DROP,
                         cli_copy("the lease ran out before it could be renewed"));
    }
}

/* src/cli/work_housekeep.c - what keeps the queue healthy while a worker is there. */
#include "mono.h"
#include "worker.h"

#define REAP_EVERY_MS 1000
#define RETAIN_EVERY_MS 300000
#define FOLD_EVERY_MS 30000

/* Each call does a bounded amount; when it found something there may be more. */
static void reap_and_expire(cli_worker *worker)
{
    pawl_error err = PAWL_ERROR_INIT;
    size_t reaped = 0;
    size_t expired = 0;
    pawl_status st = pawl_queue_reap(worker->store, &reaped, &err);

    if (cli_worker_heard(worker, st, &err)) {
        st = pawl_queue_expire(worker->store, &expired, &err);
        cli_worker_heard(worker, st, &err);
    }
    worker->now = cli_mono_now();
    worker->reap_at = cli_mono_after(worker->now, reaped + expired > 0 ? 0 : REAP_EVERY_MS);
}

static void retain(cli_worker *worker)
{
    pawl_error err = PAWL_ERROR_INIT;
    size_t removed = 0;
    pawl_status st = pawl_queue_retain(worker->store, PAWL_RETENTION_MS, &removed, &err);

    cli_worker_heard(worker, st, &err);
    worker->now = cli_mono_now();
    worker->retain_at = cli_mono_after(worker->now, removed > 0 ? REAP_EVERY_MS : RETAIN_EVERY_MS);
}

static void fold(cli_worker *worker)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_status st = pawl_queue_fold(worker->store, &err);

    cli_worker_heard(worker, st, &err);
    worker->now = cli_mono_now();
    worker->fold_at = cli_mono_after(worker->now, FOLD_EVERY_MS);
}

void cli_worker_housekeep(cli_worker *worker)
{
    if (worker->stopping)
        return;
    if (worker->down && !cli_mono_reached(worker->now, worker->retry_at))
        return;
    if (cli_mono_reached(worker->now, worker->reap_at))
        reap_and_expire(worker);
    if (!worker->down && cli_mono_reached(worker->now, worker->retain_at))
        retain(worker);
    if (!worker->down && cli_mono_reached(worker->now, worker->fold_at))
        fold(worker);
}

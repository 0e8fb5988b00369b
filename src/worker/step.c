/* src/worker/step.c - a worker that is driven step by step, for tests. */
#include <pawl/worker.h>

#include "fail.h"
#include "worker_private.h"

pawl_status pawli_worker_read_clock(pawl_worker *worker, pawl_error *err)
{
    pawl_wall now;
    pawl_status st = pawl_store_now(worker->store, &now, err);

    if (st == PAWL_OK)
        worker->step_now = (pawl_mono){now.us};
    return st;
}

/* Between two handlers leases are kept as the keeper's thread would. */
static pawl_status handle_all(pawl_worker *worker, pawl_error *err)
{
    pawl_status st = PAWL_OK;
    pawl_task *task;

    while (st == PAWL_OK &&
           (task = pawli_inflight_try_next(&worker->inflight, worker->step_now)) != NULL) {
        pawli_task_run(task);
        st = pawli_lease_renewer_step(worker, err);
        pawli_inflight_finish(&worker->inflight, task, worker->step_now);
    }
    return st;
}

static pawl_status do_step(pawl_worker *worker, bool *ret_idle, pawl_error *err)
{
    size_t changed = 0, found = 0, resumed = 0, dead = 0, scheduled = 0;
    bool answered;
    pawl_status st = pawli_lease_renewer_step(worker, err);

    if (st == PAWL_OK)
        st = pawli_dead_letters_announce(worker, err);
    if (st == PAWL_OK)
        st = pawli_maintenance_step(worker, &changed, err);
    if (st == PAWL_OK)
        st = pawli_job_scheduler_step(worker, &scheduled, err);
    pawli_result_batch_gather(worker);
    answered = !pawli_result_batch_empty(&worker->claim_loop.results);
    if (st == PAWL_OK)
        st = pawli_result_batch_store(worker, err);
    if (st == PAWL_OK)
        st = pawli_claim_loop_resume(worker, &resumed, err);
    if (st == PAWL_OK)
        st = pawli_dead_letters_claim(worker, &dead, err);
    if (st == PAWL_OK)
        st = pawli_claim_plan_one_batch(worker, err);
    if (st == PAWL_OK)
        pawli_unhandled_topics_check(worker);
    if (st == PAWL_OK)
        st = pawli_claim_loop_claim(worker, &found, err);
    if (st == PAWL_OK)
        st = handle_all(worker, err);
    pawli_result_batch_gather(worker);
    if (st == PAWL_OK)
        st = pawli_result_batch_store(worker, err);
    pawli_result_batch_postpone(worker);
    if (st == PAWL_OK && ret_idle)
        *ret_idle = changed + found + resumed + dead + scheduled == 0 && !answered;
    return st;
}

pawl_status pawl_worker_step(pawl_worker *worker, bool *ret_idle, pawl_error *err)
{
    pawli_mode rest = PAWLI_MODE_IDLE;
    pawl_status st;

    if (!worker)
        return pawli_fail(err, PAWL_E_INVALID, "the worker must not be NULL");
    if (!atomic_compare_exchange_strong(&worker->mode, &rest, PAWLI_MODE_STEP))
        return pawli_fail(err, PAWL_E_MISUSE,
                          "the worker is running: a step cannot be made meanwhile");
    st = do_step(worker, ret_idle, err);
    atomic_store(&worker->mode, PAWLI_MODE_IDLE);
    return st;
}

pawl_status pawl_worker_until_idle(pawl_worker *worker, pawl_error *err)
{
    bool idle = false;
    pawl_status st = PAWL_OK;

    while (st == PAWL_OK && !idle)
        st = pawl_worker_step(worker, &idle, err);
    return st;
}

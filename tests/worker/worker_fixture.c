/* tests/worker/worker_fixture.c - a worker on a fixture, and handlers that remember what they saw.
 */
#include "worker_fixture.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PATIENCE_S 60

static void free_worker(void *worker)
{
    pawl_worker_free(worker);
}

static void log_result(void *context, const pawl_message_result *what)
{
    (void)context;
    (void)what;
    activity_report();
}

pawl_worker *worker_open(fixture *f, const pawl_worker_options *opts)
{
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_worker *worker = NULL;

    if (opts)
        options = *opts;
    if (!options.observer.message)
        options.observer.message = log_result;
    assert_ok(pawl_worker_new(fixture_store(f), &options, &worker, &err), &err);
    test_defer(free_worker, worker);
    return worker;
}

void worker_handle(pawl_worker *worker, const char *topic, pawl_handler handler, void *context)
{
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_worker_handle(worker, topic, handler, context, NULL, &err), &err);
}

void worker_step(pawl_worker *worker)
{
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_worker_step(worker, NULL, &err), &err);
}

void worker_until_idle(pawl_worker *worker)
{
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_worker_until_idle(worker, &err), &err);
}

pawl_worker_stats worker_stats(pawl_worker *worker)
{
    pawl_worker_stats stats = PAWL_WORKER_STATS_INIT;

    pawl_worker_get_stats(worker, &stats);
    return stats;
}

pawl_result recorder_handle(pawl_task *task, void *context)
{
    recorder *record = context;
    const char *payload = pawl_message_payload(pawl_task_message(task), NULL);
    size_t used = strlen(record->seen);

    snprintf(record->seen + used, sizeof record->seen - used, used > 0 ? " %s" : "%s", payload);
    record->calls++;
    record->attempt = pawl_task_attempt(task);
    record->fence = pawl_task_fence(task);
    pawl_task_set_error(task, record->error);
    if (record->delay_ms > 0)
        pawl_task_set_retry_delay(task, record->delay_ms);
    return record->result;
}

/* ---- on a thread ---- */

static void *run_body(void *context)
{
    running *run = context;

    run->status = pawl_worker_run(run->worker, &run->err);
    return NULL;
}

/* A test that failed half-way must not leave the thread behind. */
static void end_run(void *context)
{
    running *run = context;

    if (!run->joined) {
        pawl_worker_request_stop(run->worker);
        pawl_worker_request_stop(run->worker);
        pthread_join(run->thread, NULL);
    }
    free(run);
}

running *worker_run(pawl_worker *worker)
{
    running *run = calloc(1, sizeof *run);

    if (!run)
        abort();
    run->worker = worker;
    if (pthread_create(&run->thread, NULL, run_body, run) != 0)
        abort();
    test_defer(end_run, run);
    return run;
}

pawl_status worker_join(running *run)
{
    pthread_join(run->thread, NULL);
    run->joined = true;
    return run->status;
}

void worker_stop(running *run)
{
    pawl_worker_request_stop(run->worker);
    assert_ok(worker_join(run), &run->err);
}

void counter_add(counter *count, int by)
{
    pthread_mutex_lock(&count->lock);
    count->value += by;
    pthread_cond_broadcast(&count->changed);
    pthread_mutex_unlock(&count->lock);
    activity_report();
}

int counter_get(counter *count)
{
    pthread_mutex_lock(&count->lock);
    int value = count->value;
    pthread_mutex_unlock(&count->lock);
    return value;
}

bool counter_wait(counter *count, int least)
{
    struct timespec until;
    int waited = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    pthread_mutex_lock(&count->lock);
    while (count->value < least && waited == 0)
        waited = pthread_cond_timedwait(&count->changed, &count->lock, &until);
    bool reached = count->value >= least;
    pthread_mutex_unlock(&count->lock);
    return reached;
}

void counter_expect(counter *count, int least)
{
    if (!counter_wait(count, least))
        test_fail("%d was reached, %d awaited", counter_get(count), least);
}

pawl_result count_handle(pawl_task *task, void *context)
{
    (void)task;
    counter_add(context, 1);
    return PAWL_DONE;
}

pawl_result gate_handle(pawl_task *task, void *context)
{
    struct gate *gate = context;

    (void)task;
    counter_add(&gate->entered, 1);
    return counter_wait(&gate->open, 1) ? PAWL_DONE : PAWL_FAIL;
}

bool worker_await_cancel(pawl_task *task)
{
    struct pollfd cancel = {-1, POLLIN, 0};
    pawl_error err = PAWL_ERROR_INIT;

    if (pawl_task_cancel_fd(task, &cancel.fd, &err) == PAWL_OK)
        (void)poll(&cancel, 1, PATIENCE_S * 1000);
    return pawl_task_cancelled(task);
}

void worker_check_nothing_leased(fixture *f)
{
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {queue} WHERE fence > 0"));
    queue_check(f);
}

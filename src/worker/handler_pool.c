/* src/worker/handler_pool.c - the threads that call handlers. */
#include "handler_pool.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "worker_private.h"

/* The application's signals are for its own threads; those of faults are for the one at fault. */
static void block_signals(sigset_t *ret_before)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigset_t blocked;

    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, ret_before);
}

pawl_status pawli_thread_start(pthread_t *ret_thread, void *(*body)(void *), void *context,
                               pawl_error *err)
{
    sigset_t before;

    block_signals(&before);
    int problem = pthread_create(ret_thread, NULL, body, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (problem != 0)
        return pawli_fail_code(err, PAWL_E_NOMEM, problem,
                               "a thread of the worker could not be started: %s",
                               strerror(problem));
    return PAWL_OK;
}

/* Thread: one of the crew. */
static void *pool_work(void *context)
{
    pawl_worker *worker = context;
    pawl_task *task = NULL;

    while ((task = pawli_inflight_next(&worker->inflight, task)) != NULL)
        pawli_task_run(task);
    return NULL;
}

pawl_status pawli_handler_pool_start(pawl_worker *worker, pawl_error *err)
{
    pawli_handler_pool *pool = &worker->pool;
    size_t wanted = (size_t)worker->options.concurrency;
    pawl_status st = PAWL_OK;

    pool->count = 0;
    pool->threads = calloc(wanted, sizeof *pool->threads);
    if (!pool->threads)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu threads", wanted);
    while (st == PAWL_OK && pool->count < wanted) {
        st = pawli_thread_start(&pool->threads[pool->count], pool_work, worker, err);
        if (st == PAWL_OK)
            pool->count++;
    }
    if (st != PAWL_OK)
        pawli_handler_pool_end(worker);
    return st;
}

void pawli_handler_pool_end(pawl_worker *worker)
{
    pawli_handler_pool *pool = &worker->pool;

    pawli_inflight_close(&worker->inflight);
    for (size_t i = 0; i < pool->count; i++)
        pthread_join(pool->threads[i], NULL);
    free(pool->threads);
    *pool = (pawli_handler_pool){0};
}

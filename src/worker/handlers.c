/* src/worker/handlers.c - handlers by topic, and the threads that call them. */
#include "handlers.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "handler_pool.h"
#include "options.h"
#include "text.h"
#include "worker_private.h"

/* ---- the handler of each topic ---- */

#define TIMEOUT_MAX_MS ((int64_t)7 * 24 * 3600 * 1000)
#define LIMIT_MAX 1000

static void free_handler(pawli_handler *handler)
{
    if (!handler)
        return;
    free(handler->topic);
    free(handler);
}

void pawli_handlers_done(pawli_handlers *handlers)
{
    for (size_t i = 0; i < handlers->count; i++)
        free_handler(handlers->items[i]);
    free_handler(handlers->fallback);
    free(handlers->items);
    *handlers = (pawli_handlers){0};
}

bool pawli_handlers_empty(const pawli_handlers *handlers)
{
    return handlers->count == 0 && !handlers->fallback;
}

/* The topic's index, or the index where it would be inserted. */
static size_t handlers_place_of(const pawli_handlers *handlers, const char *topic, bool *ret_found)
{
    size_t low = 0, high = handlers->count;

    *ret_found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(handlers->items[middle]->topic, topic);
        if (order == 0) {
            *ret_found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

pawli_handler *pawli_handlers_own(const pawli_handlers *handlers, const char *topic)
{
    bool found;
    size_t place = handlers_place_of(handlers, topic, &found);

    return found ? handlers->items[place] : NULL;
}

pawli_handler *pawli_handlers_find(const pawli_handlers *handlers, const char *topic)
{
    pawli_handler *own = pawli_handlers_own(handlers, topic);

    return own ? own : handlers->fallback;
}

static pawl_status check_topic(const pawli_handlers *handlers, const char *topic, pawl_error *err)
{
    size_t characters;

    if (!topic) {
        if (handlers->fallback)
            return pawli_fail(err, PAWL_E_INVALID, "there is already a default handler");
        return PAWL_OK;
    }
    if (!*topic || !pawli_utf8_check(topic, strlen(topic), &characters) ||
        characters > PAWL_TOPIC_MAX)
        return pawli_fail(err, PAWL_E_INVALID,
                          "a handler's topic must be 1 to %d characters of UTF-8, or NULL for the "
                          "default handler",
                          PAWL_TOPIC_MAX);
    if (pawli_handlers_own(handlers, topic))
        return pawli_fail(err, PAWL_E_INVALID,
                          "topic '%.200s' already has a handler; only one is allowed", topic);
    if (handlers->count >= PAWLI_HANDLERS_MAX)
        return pawli_fail(err, PAWL_E_INVALID,
                          "a worker has handlers for at most %d topics: use a default handler",
                          PAWLI_HANDLERS_MAX);
    return PAWL_OK;
}

static pawl_status handlers_read_options(const pawl_handler_options *given,
                                         pawl_handler_options *options, pawl_error *err)
{
    pawl_status st = pawli_options_copy(options, sizeof *options, given, err);

    if (st != PAWL_OK)
        return st;
    if (options->concurrency < 0 || options->concurrency > LIMIT_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "a handler's concurrency must be 0 to %d",
                          LIMIT_MAX);
    if (options->timeout_ms < 0 || options->timeout_ms > TIMEOUT_MAX_MS)
        return pawli_fail(err, PAWL_E_INVALID, "a handler's timeout_ms must be 0 to 7 days");
    return PAWL_OK;
}

static pawl_status handlers_insert(pawli_handlers *handlers, pawli_handler *handler,
                                   pawl_error *err)
{
    pawli_handler **items =
        realloc(handlers->items, (handlers->count + 1) * sizeof(pawli_handler *));
    bool found;
    size_t place;

    if (!items)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a handler");
    handlers->items = items;
    place = handlers_place_of(handlers, handler->topic, &found);
    memmove(items + place + 1, items + place, (handlers->count - place) * sizeof(pawli_handler *));
    items[place] = handler;
    handlers->count++;
    return PAWL_OK;
}

pawl_status pawli_handlers_add(pawli_handlers *handlers, const char *topic, pawl_handler call,
                               void *context, const pawl_handler_options *opts, pawl_error *err)
{
    pawl_handler_options options = PAWL_HANDLER_OPTIONS_INIT;
    pawli_handler *handler;
    pawl_status st;

    if (!call)
        return pawli_fail(err, PAWL_E_INVALID, "the handler must not be NULL");
    st = check_topic(handlers, topic, err);
    if (st == PAWL_OK)
        st = handlers_read_options(opts, &options, err);
    if (st != PAWL_OK)
        return st;
    handler = calloc(1, sizeof *handler);
    if (!handler || (topic && !(handler->topic = strdup(topic)))) {
        free_handler(handler);
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a handler");
    }
    handler->call = call;
    handler->context = context;
    handler->limit = options.concurrency;
    handler->timeout_us = options.timeout_ms * 1000;
    if (!topic) {
        handlers->fallback = handler;
        return PAWL_OK;
    }
    st = handlers_insert(handlers, handler, err);
    if (st != PAWL_OK)
        free_handler(handler);
    return st;
}

/* ---- handler threads ---- */

/* Asynchronous signals go to the application's own threads; fault signals must reach the thread
 * at fault. */
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
        return pawli_fail_code(err, PAWL_E_NOMEM, problem, "cannot start a worker thread: %s",
                               strerror(problem));
    return PAWL_OK;
}

/* Thread: a handler thread. */
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

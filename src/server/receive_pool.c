/* src/server/receive_pool.c - the handler pool and its queue. */
#include "receive_pool.h"

#include <stdlib.h>
#include <time.h>

#include "fail.h"
#include "platform.h"
#include "scope.h"
#include "thread.h"

/* ---- the handler pool ---- */

/* ---- job lists; with the lock held ---- */

static void pool_append(pawli_request **first, pawli_request **last, pawli_request *job)
{
    job->next = NULL;
    if (*last)
        (*last)->next = job;
    else
        *first = job;
    *last = job;
}

static pawli_request *take_first(pawli_request **first, pawli_request **last)
{
    pawli_request *job = *first;

    if (job) {
        *first = job->next;
        if (!*first)
            *last = NULL;
    }
    return job;
}

/* A job that has already waited goes to the front. */
static void put_first(pawli_receive_pool *pool, pawli_request *job)
{
    job->next = pool->first;
    pool->first = job;
    if (!pool->last)
        pool->last = job;
    pthread_cond_broadcast(&pool->changed);
}

/* ---- room on a route; with the lock held ---- */

static bool has_room(const pawli_route *route)
{
    return route->options.concurrency == 0 || route->running < route->options.concurrency;
}

static void pool_begin(pawli_receive_pool *pool, pawli_route *route)
{
    route->running++;
    pool->running++;
}

/* A job blocked by this route goes to the front of the queue, because it has waited longest. */
static void pool_end(pawli_receive_pool *pool, pawli_route *route)
{
    pawli_request *blocked;

    route->running--;
    pool->running--;
    blocked = take_first(&route->blocked, &route->last_blocked);
    if (blocked)
        put_first(pool, blocked);
}

/* ---- suspects; with the lock held ---- */

static void wait_as_suspect(pawli_receive_pool *pool, pawli_request *job, const pawli_route *route)
{
    pawli_suspects *suspects = &pool->suspects[route->mode];

    pool->waiting++;
    if (suspects->is_busy) {
        pool_append(&suspects->first, &suspects->last, job);
        return;
    }
    suspects->is_busy = true;
    job->is_next = true;
    put_first(pool, job);
}

/* The active suspect has ended: makes the next one active. */
static void next_suspect(pawli_receive_pool *pool, pawl_receive_mode mode)
{
    pawli_suspects *suspects = &pool->suspects[mode];
    pawli_request *job = take_first(&suspects->first, &suspects->last);

    suspects->is_busy = job != NULL;
    if (!job)
        return;
    job->is_next = true;
    put_first(pool, job);
}

/* ---- a pool thread ---- */

/* The next job, whose route has room if it is already known; NULL: the thread must end. With the
 * lock held. */
static pawli_request *next_job(pawli_receive_pool *pool)
{
    while (!pool->first && !pool->ending)
        pthread_cond_wait(&pool->changed, &pool->lock);
    pawli_request *job = take_first(&pool->first, &pool->last);
    if (job)
        pool->waiting--;
    return job;
}

/* Whether the job may run now; otherwise it is blocked without a thread. With the lock held. */
static bool pool_admit(pawli_receive_pool *pool, pawli_request *job)
{
    if (!pool->closed && !has_room(job->route)) {
        pool_append(&job->route->blocked, &job->route->last_blocked, job);
        pool->waiting++;
        return false;
    }
    return true;
}

static void pool_finish(pawli_request *job)
{
    pawl_envelope_free(job->envelope);
    job->envelope = NULL;
    job->done(job);
}

/* True: the suspect waits, and the lock is held; false: the pool is closed. */
static bool park_suspect(pawli_receive_pool *pool, pawli_request *job, pawli_route *route)
{
    pthread_mutex_lock(&pool->lock);
    if (pool->closed) {
        pthread_mutex_unlock(&pool->lock);
        return false;
    }
    wait_as_suspect(pool, job, route);
    pool_end(pool, route);
    return true;
}

/* The job has left its route: it has a response, or waits as a suspect. Takes the lock. */
static void pool_leave(pawli_receive_pool *pool, pawli_request *job, pawli_route *route,
                       bool answered)
{
    bool was_next = job->is_next;
    pawl_receive_mode mode = job->route ? job->route->mode : PAWL_RECEIVE_ATOMIC;

    if (!answered && route && park_suspect(pool, job, route))
        return;
    if (!answered)
        pool->work.reject(pool->work.context, job);
    pool_finish(job); /* the job must not be used after this */
    pthread_mutex_lock(&pool->lock);
    if (was_next)
        next_suspect(pool, mode);
    if (route)
        pool_end(pool, route);
}

/* Runs one job from the queue until it has a response or is blocked. Call it with the lock held;
 * the lock is released while the job runs. */
static void request_handle(pawli_receive_pool *pool, pawli_request *job)
{
    bool closed = pool->closed;
    bool go_on = true;
    bool answered = true;

    pthread_mutex_unlock(&pool->lock);
    if (!closed && !job->route)
        go_on = pool->work.read(pool->work.context, job);
    pthread_mutex_lock(&pool->lock);
    if (go_on && !closed && !pool_admit(pool, job))
        return;
    closed = pool->closed;
    if (go_on && !closed)
        pool_begin(pool, job->route);
    pthread_mutex_unlock(&pool->lock);
    if (go_on && !closed)
        answered = pool->work.process(pool->work.context, job);
    else if (go_on)
        pool->work.reject(pool->work.context, job);
    pawli_route *route = go_on && !closed ? job->route : NULL;
    pool_leave(pool, job, route, answered);
}

static void *pool_run(void *context)
{
    pawli_receive_pool *pool = context;
    pawli_request *job;

    pthread_mutex_lock(&pool->lock);
    while ((job = next_job(pool)) != NULL) {
        pool->working++;
        request_handle(pool, job);
        if (--pool->working == 0)
            pthread_cond_broadcast(&pool->changed);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* ---- other threads ---- */

void pawli_receive_pool_init(pawli_receive_pool *pool)
{
    pthread_mutex_init(&pool->lock, NULL);
    pawli_wait_init(&pool->changed);
}

void pawli_receive_pool_destroy(pawli_receive_pool *pool)
{
    pthread_cond_destroy(&pool->changed);
    pthread_mutex_destroy(&pool->lock);
}

pawl_status pawli_receive_pool_start(pawli_receive_pool *pool, const pawli_receive_pool_work *work,
                                     size_t threads, size_t most_waiting, pawl_error *err)
{
    pool->work = *work;
    pool->most_waiting = most_waiting + threads;
    pool->threads = calloc(threads, sizeof *pool->threads);
    if (!pool->threads)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu threads", threads);
    while (pool->count < threads) {
        if (!pawli_thread_begin(&pool->threads[pool->count], pool_run, pool))
            return pawli_fail(err, PAWL_E_NOMEM, "the receiver could start only %zu of %zu threads",
                              pool->count, threads);
        pool->count++;
    }
    return PAWL_OK;
}

bool pawli_receive_pool_take(pawli_receive_pool *pool, pawli_request *job)
{
    bool taken;

    pthread_mutex_lock(&pool->lock);
    taken = !pool->closed && pool->waiting + pool->working < pool->most_waiting;
    if (taken) {
        pool_append(&pool->first, &pool->last, job);
        pool->waiting++;
        pthread_cond_signal(&pool->changed);
    }
    pthread_mutex_unlock(&pool->lock);
    return taken;
}

void pawli_receive_pool_close(pawli_receive_pool *pool, pawli_routes *routes)
{
    pawli_request *job;
    pawli_request *waiting;

    pthread_mutex_lock(&pool->lock);
    pool->closed = true;
    for (size_t i = 0; i < routes->count; i++)
        while ((job = take_first(&routes->items[i]->blocked, &routes->items[i]->last_blocked)))
            pool_append(&pool->first, &pool->last, job);
    for (size_t i = 0; i < PAWLI_MODE_COUNT; i++)
        while ((job = take_first(&pool->suspects[i].first, &pool->suspects[i].last)))
            pool_append(&pool->first, &pool->last, job);
    waiting = pool->first;
    pool->first = pool->last = NULL;
    pool->waiting = 0;
    pthread_mutex_unlock(&pool->lock);
    while ((job = waiting)) {
        waiting = job->next;
        pool->work.reject(pool->work.context, job);
        pool_finish(job);
    }
}

bool pawli_receive_pool_wait(pawli_receive_pool *pool, pawl_mono deadline)
{
    bool idle;

    pthread_mutex_lock(&pool->lock);
    while ((pool->working > 0 || pool->running > 0 || pool->first) && !pawli_mono_passed(deadline))
        pawli_wait_until(&pool->changed, &pool->lock, deadline);
    idle = pool->working == 0 && pool->running == 0 && !pool->first;
    pthread_mutex_unlock(&pool->lock);
    return idle;
}

void pawli_receive_pool_done(pawli_receive_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->ending = true;
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
    for (size_t i = 0; i < pool->count; i++)
        pthread_join(pool->threads[i], NULL);
    free(pool->threads);
    pool->threads = NULL;
    pool->count = 0;
}

bool pawli_receive_pool_enter(pawli_receive_pool *pool, pawli_route *route)
{
    bool entered;

    pthread_mutex_lock(&pool->lock);
    entered = !pool->closed && has_room(route);
    if (entered)
        pool_begin(pool, route);
    pthread_mutex_unlock(&pool->lock);
    return entered;
}

void pawli_receive_pool_leave(pawli_receive_pool *pool, pawli_route *route)
{
    pthread_mutex_lock(&pool->lock);
    pool_end(pool, route);
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
}

void pawli_receive_pool_count(pawli_receive_pool *pool, int64_t *ret_running, int64_t *ret_waiting)
{
    pthread_mutex_lock(&pool->lock);
    *ret_running = (int64_t)pool->running;
    *ret_waiting = (int64_t)pool->waiting;
    pthread_mutex_unlock(&pool->lock);
}

/* ---- the library's threads, and waiting with a deadline ---- */

void pawli_signals_block(sigset_t *ret_before)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigset_t blocked;

    sigfillset(&blocked);
    for (size_t i = 0; i < PAWLI_COUNT(faults); i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, ret_before);
}

void pawli_signals_restore(const sigset_t *before)
{
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

bool pawli_thread_begin(pthread_t *ret_thread, void *(*body)(void *), void *context)
{
    sigset_t before;
    int problem;

    pawli_signals_block(&before);
    problem = pthread_create(ret_thread, NULL, body, context);
    pawli_signals_restore(&before);
    return problem == 0;
}

void pawli_wait_init(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* Condition variables cannot use CLOCK_BOOTTIME, so callers check their deadline after each
 * wake-up. */
void pawli_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, pawl_mono deadline)
{
    struct timespec until;
    int64_t left = pawli_mono_left(deadline);

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += left / 1000000;
    until.tv_nsec += left % 1000000 * 1000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_cond_timedwait(cond, lock, &until);
}

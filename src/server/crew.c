/* src/server/crew.c - the threads that process messages, and the line in front of them. */
#include "crew.h"

#include <stdlib.h>

#include "fail.h"
#include "thread.h"
#include "world.h"

/* ---- lists of jobs; the lock is held ---- */

static void append(pawli_job **first, pawli_job **last, pawli_job *job)
{
    job->next = NULL;
    if (*last)
        (*last)->next = job;
    else
        *first = job;
    *last = job;
}

static pawli_job *take_first(pawli_job **first, pawli_job **last)
{
    pawli_job *job = *first;

    if (job) {
        *first = job->next;
        if (!*first)
            *last = NULL;
    }
    return job;
}

/* One that has waited goes before all others. */
static void put_first(pawli_server_crew *crew, pawli_job *job)
{
    job->next = crew->first;
    crew->first = job;
    if (!crew->last)
        crew->last = job;
    pthread_cond_broadcast(&crew->changed);
}

/* ---- room on a route; the lock is held ---- */

static bool has_room(const pawli_route *route)
{
    return route->options.concurrency == 0 || route->running < route->options.concurrency;
}

static void begin(pawli_server_crew *crew, pawli_route *route)
{
    route->running++;
    crew->running++;
}

/* A job that waited for this route goes to the front of the line: it has waited longest. */
static void end(pawli_server_crew *crew, pawli_route *route)
{
    pawli_job *parked;

    route->running--;
    crew->running--;
    parked = take_first(&route->parked, &route->last_parked);
    if (parked)
        put_first(crew, parked);
}

/* ---- suspects; the lock is held ---- */

static void wait_as_suspect(pawli_server_crew *crew, pawli_job *job, const pawli_route *route)
{
    pawli_suspects *suspects = &crew->suspects[route->mode];

    crew->waiting++;
    if (suspects->is_busy) {
        append(&suspects->first, &suspects->last, job);
        return;
    }
    suspects->is_busy = true;
    job->is_next = true;
    put_first(crew, job);
}

/* The one whose time had come has ended. */
static void next_suspect(pawli_server_crew *crew, pawl_receive_mode mode)
{
    pawli_suspects *suspects = &crew->suspects[mode];
    pawli_job *job = take_first(&suspects->first, &suspects->last);

    suspects->is_busy = job != NULL;
    if (!job)
        return;
    job->is_next = true;
    put_first(crew, job);
}

/* ---- a thread of the crew ---- */

/* The next job, whose route has room if it is known; NULL: the crew ends. The lock is held. */
static pawli_job *next_job(pawli_server_crew *crew)
{
    while (!crew->first && !crew->ending)
        pthread_cond_wait(&crew->changed, &crew->lock);
    pawli_job *job = take_first(&crew->first, &crew->last);
    if (job)
        crew->waiting--;
    return job;
}

/* Whether the job may go on now; otherwise it waits, out of the way. The lock is held. */
static bool admit(pawli_server_crew *crew, pawli_job *job)
{
    if (!crew->closed && !has_room(job->route)) {
        append(&job->route->parked, &job->route->last_parked, job);
        crew->waiting++;
        return false;
    }
    return true;
}

static void finish(pawli_job *job)
{
    pawl_envelope_free(job->envelope);
    job->envelope = NULL;
    job->done(job);
}

/* True: the suspect waits, and the lock is held; false: the crew is closed. */
static bool put_aside(pawli_server_crew *crew, pawli_job *job, pawli_route *route)
{
    pthread_mutex_lock(&crew->lock);
    if (crew->closed) {
        pthread_mutex_unlock(&crew->lock);
        return false;
    }
    wait_as_suspect(crew, job, route);
    end(crew, route);
    return true;
}

/* It has left its route: answered, or as a suspect that waits. Takes the lock. */
static void leave(pawli_server_crew *crew, pawli_job *job, pawli_route *route, bool answered)
{
    bool was_next = job->is_next;
    pawl_receive_mode mode = job->route ? job->route->mode : PAWL_RECEIVE_ATOMIC;

    if (!answered && route && put_aside(crew, job, route))
        return;
    if (!answered)
        crew->work.turn_away(crew->work.context, job);
    finish(job); /* it is gone */
    pthread_mutex_lock(&crew->lock);
    if (was_next)
        next_suspect(crew, mode);
    if (route)
        end(crew, route);
}

/* One job from the line to its answer, or to where it is parked. The lock is held, but not while it
 * is being worked on. */
static void work_on(pawli_server_crew *crew, pawli_job *job)
{
    bool closed = crew->closed;
    bool go_on = true;
    bool answered = true;

    pthread_mutex_unlock(&crew->lock);
    if (!closed && !job->route)
        go_on = crew->work.read(crew->work.context, job);
    pthread_mutex_lock(&crew->lock);
    if (go_on && !closed && !admit(crew, job))
        return;
    closed = crew->closed;
    if (go_on && !closed)
        begin(crew, job->route);
    pthread_mutex_unlock(&crew->lock);
    if (go_on && !closed)
        answered = crew->work.process(crew->work.context, job);
    else if (go_on)
        crew->work.turn_away(crew->work.context, job);
    pawli_route *route = go_on && !closed ? job->route : NULL;
    leave(crew, job, route, answered);
}

static void *run(void *context)
{
    pawli_server_crew *crew = context;
    pawli_job *job;

    pthread_mutex_lock(&crew->lock);
    while ((job = next_job(crew)) != NULL) {
        crew->working++;
        work_on(crew, job);
        if (--crew->working == 0)
            pthread_cond_broadcast(&crew->changed);
    }
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

/* ---- from outside ---- */

void pawli_server_crew_init(pawli_server_crew *crew)
{
    pthread_mutex_init(&crew->lock, NULL);
    pawli_wait_init(&crew->changed);
}

void pawli_server_crew_destroy(pawli_server_crew *crew)
{
    pthread_cond_destroy(&crew->changed);
    pthread_mutex_destroy(&crew->lock);
}

pawl_status pawli_server_crew_start(pawli_server_crew *crew, const pawli_server_crew_work *work,
                                    size_t threads, size_t most_waiting, pawl_error *err)
{
    crew->work = *work;
    crew->most_waiting = most_waiting + threads;
    crew->threads = calloc(threads, sizeof *crew->threads);
    if (!crew->threads)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu threads", threads);
    while (crew->count < threads) {
        if (!pawli_thread_begin(&crew->threads[crew->count], run, crew))
            return pawli_fail(err, PAWL_E_NOMEM, "the receiver could start only %zu of %zu threads",
                              crew->count, threads);
        crew->count++;
    }
    return PAWL_OK;
}

bool pawli_server_crew_take(pawli_server_crew *crew, pawli_job *job)
{
    bool taken;

    pthread_mutex_lock(&crew->lock);
    taken = !crew->closed && crew->waiting + crew->working < crew->most_waiting;
    if (taken) {
        append(&crew->first, &crew->last, job);
        crew->waiting++;
        pthread_cond_signal(&crew->changed);
    }
    pthread_mutex_unlock(&crew->lock);
    return taken;
}

void pawli_server_crew_close(pawli_server_crew *crew, pawli_routes *routes)
{
    pawli_job *job;
    pawli_job *waiting;

    pthread_mutex_lock(&crew->lock);
    crew->closed = true;
    for (size_t i = 0; i < routes->count; i++)
        while ((job = take_first(&routes->items[i]->parked, &routes->items[i]->last_parked)))
            append(&crew->first, &crew->last, job);
    for (size_t i = 0; i < PAWLI_MODE_COUNT; i++)
        while ((job = take_first(&crew->suspects[i].first, &crew->suspects[i].last)))
            append(&crew->first, &crew->last, job);
    waiting = crew->first;
    crew->first = crew->last = NULL;
    crew->waiting = 0;
    pthread_mutex_unlock(&crew->lock);
    while ((job = waiting)) {
        waiting = job->next;
        crew->work.turn_away(crew->work.context, job);
        finish(job);
    }
}

bool pawli_server_crew_wait(pawli_server_crew *crew, pawl_mono deadline)
{
    bool idle;

    pthread_mutex_lock(&crew->lock);
    while ((crew->working > 0 || crew->running > 0 || crew->first) && !pawli_mono_passed(deadline))
        pawli_wait_until(&crew->changed, &crew->lock, deadline);
    idle = crew->working == 0 && crew->running == 0 && !crew->first;
    pthread_mutex_unlock(&crew->lock);
    return idle;
}

void pawli_server_crew_done(pawli_server_crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    crew->ending = true;
    pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
    for (size_t i = 0; i < crew->count; i++)
        pthread_join(crew->threads[i], NULL);
    free(crew->threads);
    crew->threads = NULL;
    crew->count = 0;
}

bool pawli_server_crew_enter(pawli_server_crew *crew, pawli_route *route)
{
    bool entered;

    pthread_mutex_lock(&crew->lock);
    entered = !crew->closed && has_room(route);
    if (entered)
        begin(crew, route);
    pthread_mutex_unlock(&crew->lock);
    return entered;
}

void pawli_server_crew_leave(pawli_server_crew *crew, pawli_route *route)
{
    pthread_mutex_lock(&crew->lock);
    end(crew, route);
    pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
}

void pawli_server_crew_count(pawli_server_crew *crew, int64_t *ret_running, int64_t *ret_waiting)
{
    pthread_mutex_lock(&crew->lock);
    *ret_running = (int64_t)crew->running;
    *ret_waiting = (int64_t)crew->waiting;
    pthread_mutex_unlock(&crew->lock);
}

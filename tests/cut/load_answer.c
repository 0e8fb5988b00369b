/* tests/cut/load_answer.c - the accounts of a load: answers, and how long they stayed away. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "load.h"

#define PATIENCE_SECONDS 120

void load_init(load *l, pawl_store *store)
{
    pthread_condattr_t monotonic;

    *l = (load){.store = store};
    l->fates = calloc(LOAD_SENDERS * LOAD_NUMBERS, sizeof *l->fates);
    l->hands = calloc(LOAD_SENDERS * LOAD_NUMBERS, sizeof *l->hands);
    if (!l->fates || !l->hands)
        abort();
    atomic_store(&l->senders, LOAD_SENDERS);
    pthread_mutex_init(&l->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&l->progress, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

void load_done(load *l)
{
    pthread_cond_destroy(&l->progress);
    pthread_mutex_destroy(&l->lock);
    free(l->fates);
    free(l->hands);
}

void load_answered(load *l, int64_t asked_ms)
{
    pthread_mutex_lock(&l->lock);
    l->answers++;
    if (l->killed_ms != 0 && l->recovery_ms == 0 && asked_ms > l->killed_ms)
        l->recovery_ms = test_clock_ms() - l->killed_ms;
    pthread_cond_broadcast(&l->progress);
    pthread_mutex_unlock(&l->lock);
}

const char *load_refused(load *l, const char *what, pawl_status st, const pawl_error *err)
{
    if (st == PAWL_E_IN_DOUBT)
        atomic_fetch_add(&l->doubts, 1);
    else
        atomic_fetch_add(&l->refusals, 1);
    if (err->retryable)
        return NULL;
    return test_note("%s answered %s: %s", what, pawl_status_name(st), err->message);
}

static struct timespec patience(void)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PATIENCE_SECONDS;
    return until;
}

bool load_await_answers(load *l, long count)
{
    struct timespec until = patience();
    bool late = false;

    pthread_mutex_lock(&l->lock);
    long wanted = l->answers + count;
    while (l->answers < wanted && !late)
        late = pthread_cond_timedwait(&l->progress, &l->lock, &until) == ETIMEDOUT;
    pthread_mutex_unlock(&l->lock);
    return !late;
}

void load_note_kill(load *l)
{
    pthread_mutex_lock(&l->lock);
    l->killed_ms = test_clock_ms();
    l->recovery_ms = 0;
    pthread_mutex_unlock(&l->lock);
}

int64_t load_await_recovery(load *l)
{
    struct timespec until = patience();
    bool late = false;

    pthread_mutex_lock(&l->lock);
    while (l->recovery_ms == 0 && !late)
        late = pthread_cond_timedwait(&l->progress, &l->lock, &until) == ETIMEDOUT;
    int64_t recovery_ms = l->recovery_ms;
    pthread_mutex_unlock(&l->lock);
    return recovery_ms;
}

/* src/core/inbox_suspects.c - messages that may have killed their receiver, one at a time. */
#include "inbox_suspects.h"

#include <pthread.h>
#include <unistd.h>

#include "cond.h"
#include "platform.h"

/* Of the process, not of a store: all stores of a process die with it. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t left[PAWLI_SUSPECT_KINDS];
static pid_t taken_by[PAWLI_SUSPECT_KINDS]; /* 0: free */

static void init_conditions(void)
{
    for (int i = 0; i < PAWLI_SUSPECT_KINDS; i++)
        pawli_cond_init(&left[i]);
}

bool pawli_suspect_enter(pawli_suspect_kind kind, pawl_mono deadline)
{
    pid_t self = getpid();
    bool entered;

    pthread_once(&once, init_conditions);
    pthread_mutex_lock(&lock);
    /* What the parent of a fork() had taken is the parent's. */
    while (taken_by[kind] == self && !pawli_mono_passed(deadline))
        pawli_cond_wait_until(&left[kind], &lock, deadline);
    entered = taken_by[kind] != self;
    if (entered)
        taken_by[kind] = self;
    pthread_mutex_unlock(&lock);
    return entered;
}

void pawli_suspect_leave(pawli_suspect_kind kind)
{
    pthread_mutex_lock(&lock);
    taken_by[kind] = 0;
    pthread_cond_signal(&left[kind]);
    pthread_mutex_unlock(&lock);
}

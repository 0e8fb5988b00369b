/* src/server/thread.c - threads of the library's own, and waiting until one of its deadlines. */
#include "thread.h"

#include <time.h>

#include "scope.h"
#include "platform.h"

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

/* Nothing here can wait by CLOCK_BOOTTIME: whoever wakes looks at its deadline again. */
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

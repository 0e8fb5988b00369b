/* tests/concurrency/wake_fixture.h - a worker that sleeps as often as it can. */
#ifndef PAWL_TEST_WAKE_FIXTURE_H
#define PAWL_TEST_WAKE_FIXTURE_H

#include <pthread.h>

#include "queue_fixture.h"
#include "waiter.h"

/* Where the worker is on its way to sleep. */
typedef enum wake_phase {
    WAKE_AWAKE,  /* has just claimed a message, or claims again */
    WAKE_IDLE,   /* has found nothing */
    WAKE_ARMED,  /* armed, before its last claim */
    WAKE_NEARLY, /* and has found nothing again */
    WAKE_PHASES
} wake_phase;

/*
 * Claims and acknowledges one message at a time, and sleeps in between until something wakes it:
 * there is practically no polling, so a lost wake-up is missed for ten
 * minutes. The test notices after one.
 */
typedef struct wake_worker {
    pawl_store *store;
    pawli_waiter *waiter;
    pawl_owner owner;
    bool flighty; /* registers its row again for every wait */
    pthread_t thread;
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t changed;
    int taken;
    int sleeps; /* waits that ended by a wake-up, not by polling */
    wake_phase phase;
    bool stop;
    const char *problem;
} wake_worker;

/* How many rounds a test makes: more with PAWL_TEST_WHOLE. */
int wake_rounds(int usual);

/* Runs until the test ends. */
wake_worker *wake_start(pawl_store *store, bool flighty);
/* Wait until it has taken that many; otherwise the test fails. */
void wake_expect(wake_worker *worker, int taken);
/* Until the worker is in a phase that is chosen by chance, and a moment of chance more. */
void wake_dawdle(wake_worker *worker, unsigned *seed);
/* Only that moment, of up to about a millisecond, mostly much less. */
void wake_moment(unsigned *seed);
/* SQLite: the test fails if the kernel cannot report writes. */
void wake_need_events(fixture *f);

#endif

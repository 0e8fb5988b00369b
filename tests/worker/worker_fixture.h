/* tests/worker/worker_fixture.h - a worker on a fixture, and handlers that remember what they saw.
 */
#ifndef PAWL_TEST_WORKER_FIXTURE_H
#define PAWL_TEST_WORKER_FIXTURE_H

#include <pthread.h>

#include "queue_fixture.h"

/* A worker that is freed with the test. `opts` may be NULL. */
pawl_worker *worker_open(fixture *f, const pawl_worker_options *opts);
/* Register; any failure ends the test. */
void worker_handle(pawl_worker *worker, const char *topic, pawl_handler handler, void *context);
void worker_step(pawl_worker *worker);
void worker_until_idle(pawl_worker *worker);
pawl_worker_stats worker_stats(pawl_worker *worker);

/* A handler that returns the requested result and records what it saw. One thread. */
typedef struct recorder {
    pawl_result result;
    const char *error; /* NULL: explains nothing */
    int64_t delay_ms;  /* 0: by policy */
    int calls;
    char seen[1024]; /* payloads, with a space between */
    int attempt;     /* of the last call */
    int64_t fence;
} recorder;
pawl_result recorder_handle(pawl_task *task, void *context);

/* The worker on a thread of its own, until worker_stop(), which checks that it ended well. */
typedef struct running {
    pawl_worker *worker;
    pthread_t thread;
    pawl_status status;
    pawl_error err;
    bool joined;
} running;
running *worker_run(pawl_worker *worker);
/* Wait for it to end, without telling it to. */
pawl_status worker_join(running *run);
void worker_stop(running *run);

/* A number that threads count up and wait for. */
typedef struct counter {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int value;
} counter;
#define COUNTER_INIT                                                                               \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0                                     \
    }
void counter_add(counter *count, int by);
int counter_get(counter *count);
/* Until it is at least `least`; false after a minute. Any thread. */
bool counter_wait(counter *count, int least);
/* The same; the test fails after a minute. */
void counter_expect(counter *count, int least);

/* Handlers: counts its calls in a counter; and one that counts them in `entered` and then waits
 * until `open` is 1, for a test that releases all calls at the same time. */
pawl_result count_handle(pawl_task *task, void *context);
struct gate {
    counter entered;
    counter open;
};
pawl_result gate_handle(pawl_task *task, void *context);

/* In a handler: block until the call is cancelled, a minute at most; whether it was. */
bool worker_await_cancel(pawl_task *task);

/* No message is leased, and the tables obey their rules. */
void worker_check_nothing_leased(fixture *f);

#endif

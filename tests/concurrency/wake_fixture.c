/* tests/concurrency/wake_fixture.c - a worker that sleeps as often as it can. */
#include "wake_fixture.h"

#include <stdlib.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "store_private.h"

#define FAR_US (600 * INT64_C(1000000))
#define PATIENCE_S 60

int wake_rounds(int usual)
{
    return (int)test_choose(usual, 40 * usual);
}

void wake_need_events(fixture *f)
{
    int fd = inotify_init1(IN_CLOEXEC);

    if (fd < 0 && !fixture_is_postgres(f))
        test_fail("no inotify instance is left: raise fs.inotify.max_user_instances (sysctl)");
    if (fd >= 0)
        close(fd);
}

static pawl_mono far_away(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (pawl_mono){(int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000 + FAR_US};
}

static void note_progress(wake_worker *worker, int taken, int sleeps, const char *problem)
{
    pthread_mutex_lock(&worker->lock);
    worker->taken += taken;
    worker->sleeps += sleeps;
    if (problem && !worker->problem)
        worker->problem = problem;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
}

static void set_phase(wake_worker *worker, wake_phase phase)
{
    pthread_mutex_lock(&worker->lock);
    worker->phase = phase;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
}

static bool is_stopped(wake_worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    bool stop = worker->stop || worker->problem;
    pthread_mutex_unlock(&worker->lock);
    return stop;
}

/* Whether there was one. */
static bool take_message(wake_worker *worker, pawl_error *err)
{
    pawl_messages *list = NULL;
    size_t changed = 0;

    if (pawl_queue_claim(worker->store, worker->owner, HOUR_MS, 1, NULL, &list, err) != PAWL_OK) {
        note_progress(worker, 0, 0, test_note("claim: %s", err->message));
        return false;
    }
    bool found = pawl_messages_count(list) == 1;
    if (found) {
        pawl_receipt receipt = fixture_receipt(list, 0);
        if (pawl_queue_ack(worker->store, worker->owner, &receipt, 1, &changed, err) != PAWL_OK)
            note_progress(worker, 0, 0, test_note("ack: %s", err->message));
        note_progress(worker, (int)changed, 0,
                      changed == 1 ? NULL : "what was claimed was not there");
        pawli_waiter_disarm(worker->waiter);
        if (worker->flighty)
            pawli_waiter_disarm(worker->waiter);
    }
    pawl_messages_free(list);
    return found;
}

static void *run_wake_worker(void *context)
{
    wake_worker *worker = context;
    pawl_error err = PAWL_ERROR_INIT;
    pawli_woken why = PAWLI_WOKEN_POLL;

    while (!is_stopped(worker)) {
        set_phase(worker, WAKE_AWAKE);
        if (take_message(worker, &err))
            continue;
        set_phase(worker, WAKE_IDLE);
        if (pawli_waiter_arm(worker->waiter, NULL, 0, &err) != PAWL_OK)
            note_progress(worker, 0, 0, test_note("arm: %s", err.message));
        set_phase(worker, WAKE_ARMED);
        if (take_message(worker, &err) || is_stopped(worker))
            continue;
        set_phase(worker, WAKE_NEARLY);
        if (pawli_waiter_wait(worker->waiter, far_away(), &why, &err) != PAWL_OK)
            note_progress(worker, 0, 0, test_note("wait: %s", err.message));
        else if (why == PAWLI_WOKEN_SENT)
            note_progress(worker, 0, 1, NULL);
    }
    return NULL;
}

static void end_wake_worker(void *context)
{
    wake_worker *worker = context;

    pthread_mutex_lock(&worker->lock);
    worker->stop = true;
    pthread_mutex_unlock(&worker->lock);
    pawli_waiter_wake(worker->waiter);
    pthread_join(worker->thread, NULL);
    pawli_waiter_free(worker->waiter);
    pthread_cond_destroy(&worker->changed);
    pthread_mutex_destroy(&worker->lock);
    free(worker);
}

wake_worker *wake_start(pawl_store *store, bool flighty)
{
    pawli_waiter_options opts = PAWLI_WAITER_OPTIONS_INIT;
    wake_worker *worker = calloc(1, sizeof *worker);
    pawl_error err = PAWL_ERROR_INIT;

    assert_non_null(worker);
    worker->store = store;
    worker->owner = pawl_owner_new();
    worker->flighty = flighty;
    opts.max_wait_us = FAR_US;
    opts.deaf_us = FAR_US;
    opts.poll_us = FAR_US;
    opts.unsettled_us = 2000; /* is not given up by time, but when the others have ended */
    if (flighty)
        opts.linger_us = 0;
    assert_ok(pawli_waiter_new(store->db, &opts, &worker->waiter, &err), &err);
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->changed, NULL);
    assert_int_equal(0, pthread_create(&worker->thread, NULL, run_wake_worker, worker));
    test_defer(end_wake_worker, worker);
    return worker;
}

void wake_moment(unsigned *seed)
{
    /* Equally likely to be about 1, 2, 4, ... or 2^18 iterations. */
    int turns = (1 << rand_r(seed) % 19) + rand_r(seed) % 8;

    for (volatile int i = 0; i < turns; i++)
        continue;
}

void wake_dawdle(wake_worker *worker, unsigned *seed)
{
    wake_phase wanted = (wake_phase)(rand_r(seed) % WAKE_PHASES);

    pthread_mutex_lock(&worker->lock);
    while (worker->phase < wanted && !worker->problem)
        pthread_cond_wait(&worker->changed, &worker->lock);
    pthread_mutex_unlock(&worker->lock);
    wake_moment(seed);
}

void wake_expect(wake_worker *worker, int taken)
{
    struct timespec until;
    int waited = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    pthread_mutex_lock(&worker->lock);
    while (worker->taken < taken && !worker->problem && waited == 0)
        waited = pthread_cond_timedwait(&worker->changed, &worker->lock, &until);
    int found = worker->taken;
    const char *problem = worker->problem;
    pthread_mutex_unlock(&worker->lock);
    if (problem)
        test_fail("%s", problem);
    if (found < taken)
        test_fail("message %d was sent and woke no worker", taken);
}

/* src/worker/lease_start.c - starts and stops a lease runner, and waits for the lease. */
#include "lease_runner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "fail.h"
#include "options.h"
#include "platform.h"
#include "store_private.h"
#include "thread_deadline.h"

/* ---- creating, starting, stopping and freeing a runner ---- */

#define WAIT_MAX_MS ((int64_t)7 * 24 * 3600 * 1000)
/* The time limit for releasing a lease that is lost: a courtesy to the next owner. */
#define COURTESY_US INT64_C(1000000)

static pawl_status runner_check_options(const pawl_lease_runner_options *options, pawl_error *err)
{
    if (options->ttl_ms < PAWL_LEASE_TTL_MIN_MS || options->ttl_ms > PAWL_LEASE_TTL_MAX_MS)
        return pawli_fail(err, PAWL_E_INVALID, "ttl_ms must be %d to %d", PAWL_LEASE_TTL_MIN_MS,
                          PAWL_LEASE_TTL_MAX_MS);
    if (options->renew_percent < 10 || options->renew_percent > 90)
        return pawli_fail(err, PAWL_E_INVALID, "renew_percent must be 10 to 90");
    if (options->jitter_percent < 0 || options->jitter_percent > 20 ||
        options->renew_percent + options->jitter_percent > 95)
        return pawli_fail(
            err, PAWL_E_INVALID,
            "jitter_percent must be 0 to 20, and together with renew_percent at most 95");
    if (options->wait_ms < 0 || options->wait_ms > WAIT_MAX_MS)
        return pawli_fail(err, PAWL_E_INVALID, "wait_ms must be 0 to 7 days");
    if (options->by_steps && options->wait_ms > 0)
        return pawli_fail(err, PAWL_E_INVALID,
                          "wait_ms must be 0 with by_steps: such a runner does not wait");
    return PAWL_OK;
}

static bool runner_watch(int epoll, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};

    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static pawl_status open_descriptors(pawl_lease_runner *runner, pawl_error *err)
{
    runner->lost_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    runner->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    runner->deadline_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    runner->alarm_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    runner->any_fd = epoll_create1(EPOLL_CLOEXEC);
    if (runner->lost_fd < 0 || runner->wake_fd < 0 || runner->deadline_fd < 0 ||
        runner->alarm_fd < 0 || runner->any_fd < 0 ||
        !runner_watch(runner->any_fd, runner->lost_fd) ||
        !runner_watch(runner->any_fd, runner->deadline_fd))
        return pawli_fail_code(err, PAWL_E_NOMEM, errno,
                               "no file descriptor is available for the lease: %s",
                               strerror(errno));
    return PAWL_OK;
}

static pawl_status runner_fill(pawl_lease_runner *runner, pawl_store *store, const char *name,
                               const pawl_lease_runner_options *options, pawl_error *err)
{
    runner->store = store;
    runner->options = *options;
    runner->options.owner_name = runner->owner_name = NULL;
    runner->log = options->log.write ? options->log : store->log;
    runner->owner = pawl_owner_is_zero(options->owner) ? pawl_owner_new() : options->owner;
    runner->lost_fd = runner->deadline_fd = runner->any_fd = -1;
    runner->wake_fd = runner->alarm_fd = -1;
    runner->stopped = true; /* until it is started */
    pthread_mutex_init(&runner->renewing, NULL);
    pthread_mutex_init(&runner->lock, NULL);
    runner->name = strdup(name);
    if (options->owner_name)
        runner->options.owner_name = runner->owner_name = strdup(options->owner_name);
    if (!runner->name || (options->owner_name && !runner->owner_name))
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the lease");
    return open_descriptors(runner, err);
}

static pawl_status runner_release(pawl_lease_runner *runner, pawl_error *err)
{
    return pawl_lease_release(runner->store, runner->name, runner->owner, runner->fence, NULL, err);
}

/* After the lease is acquired, any failure must release it. */
static pawl_status runner_begin(pawl_lease_runner *runner, pawl_error *err)
{
    pawl_lease_grant grant;
    pawl_mono asked_at;
    pawl_status st =
        runner->options.by_steps ? pawli_lease_runner_read_clock(runner, err) : PAWL_OK;

    if (st == PAWL_OK)
        st = pawli_lease_runner_acquire(runner, &grant, &asked_at, err);
    if (st != PAWL_OK)
        return st;
    runner->fence = grant.fence;
    pawli_lease_runner_granted(runner, asked_at, grant.expires_at);
    if (!runner->options.by_steps)
        st = pawli_lease_runner_start_thread(runner, err);
    if (st == PAWL_OK)
        runner->stopped = false;
    else
        (void)!runner_release(runner, NULL);
    return st;
}

pawl_status pawl_lease_runner_start(pawl_store *store, const char *name,
                                    const pawl_lease_runner_options *opts,
                                    pawl_lease_runner **ret_runner, pawl_error *err)
{
    PAWLI_AUTO(pawl_lease_runner) runner = NULL;
    pawl_lease_runner_options options = PAWL_LEASE_RUNNER_OPTIONS_INIT;
    pawl_status st;

    if (!store || !name || !ret_runner)
        return pawli_fail(err, PAWL_E_INVALID, "store, name and ret_runner must not be NULL");
    st = pawli_options_copy(&options, sizeof options, opts, err);
    if (st == PAWL_OK)
        st = runner_check_options(&options, err);
    if (st != PAWL_OK)
        return st;
    runner = calloc(1, sizeof *runner);
    if (!runner)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the lease");
    st = runner_fill(runner, store, name, &options, err);
    if (st == PAWL_OK)
        st = runner_begin(runner, err);
    if (st == PAWL_OK)
        *ret_runner = pawl_lease_runner_take(&runner);
    return st;
}

/* The database may still count the lease as owned after we gave up on it; that would only delay
 * others. */
static void release_lost(pawl_lease_runner *runner)
{
    if (pawl_lease_runner_loss(runner) == PAWL_LEASE_REFUSED)
        return;
    pawli_thread_deadline_begin(pawli_mono_after(pawli_mono_now(), COURTESY_US));
    (void)!runner_release(runner, NULL);
    pawli_thread_deadline_end();
}

pawl_status pawl_lease_runner_stop(pawl_lease_runner *runner, pawl_error *err)
{
    if (!runner)
        return pawli_fail(err, PAWL_E_INVALID, "the runner must not be NULL");
    pthread_mutex_lock(&runner->lock);
    bool stopped = runner->stopped;
    pthread_mutex_unlock(&runner->lock);
    if (stopped)
        return PAWL_OK;
    pawli_lease_runner_end_thread(runner);
    pawl_status st = pawl_lease_runner_check(runner, err); /* the last chance to call on_lost */
    if (st == PAWL_OK)
        st = runner_release(runner, err);
    else
        release_lost(runner);
    pthread_mutex_lock(&runner->lock);
    runner->stopped = true;
    pthread_mutex_unlock(&runner->lock);
    (void)eventfd_write(runner->lost_fd, 1);
    return st;
}

static void lease_close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

void pawl_lease_runner_free(pawl_lease_runner *runner)
{
    if (!runner)
        return;
    if (!runner->stopped)
        (void)!pawl_lease_runner_stop(runner, NULL);
    lease_close_fd(runner->any_fd);
    lease_close_fd(runner->lost_fd);
    lease_close_fd(runner->deadline_fd);
    lease_close_fd(runner->wake_fd);
    lease_close_fd(runner->alarm_fd);
    pthread_mutex_destroy(&runner->lock);
    pthread_mutex_destroy(&runner->renewing);
    free(runner->owner_name);
    free(runner->name);
    free(runner);
}

/* ---- waiting for a lease that has another owner ---- */

/* The first pause before the lease is checked again; each further pause is twice as long. */
#define FIRST_PAUSE_US INT64_C(50000)
#define LONGEST_PAUSE_US INT64_C(1000000)

static pawl_status lease_wait_interrupted(const pawl_lease_runner *runner, pawl_error *err)
{
    return pawli_fail(err, PAWL_E_INTERRUPTED, "interrupted while waiting for lease '%.255s'",
                      runner->name);
}

/* Three to five quarters of the pause, so that waiters for the same lease spread out. */
static int64_t with_jitter(int64_t pause_us)
{
    return pause_us * 3 / 4 + (int64_t)(pawli_random_u64() % (uint64_t)(pause_us / 2 + 1));
}

/* Enqueues wake the same threads and are ignored here. */
static pawl_status lease_wait_rest(pawl_lease_runner *runner, uint64_t interrupts, pawl_mono until,
                                   pawl_error *err)
{
    pawli_db *db = runner->store->db;
    pawli_wake *wake = pawli_db_wake(db);

    while (pawli_db_interrupts(db) == interrupts && !pawli_mono_passed(until))
        (void)pawli_wake_wait(wake, pawli_wake_sent(wake), until);
    return pawli_db_interrupts(db) == interrupts ? PAWL_OK : lease_wait_interrupted(runner, err);
}

/* The check takes no lock. *ret_left_us: the remaining time of the current owner's lease; 0 if
 * it has no owner. */
static pawl_status lease_wait_check(pawl_lease_runner *runner, int64_t *ret_left_us,
                                    pawl_error *err)
{
    pawl_leases *one = NULL;
    pawl_status st = pawl_lease_get(runner->store, runner->name, &one, err);

    *ret_left_us = 0;
    if (st == PAWL_E_NOT_FOUND)
        return PAWL_OK;
    if (st == PAWL_OK && pawl_leases_at(one, 0)->owned)
        *ret_left_us = pawl_leases_at(one, 0)->expires_at.us - pawl_leases_now(one).us;
    pawl_leases_free(one);
    return st;
}

/* Waits until the lease has no owner. At the end of the wait returns PAWL_E_HELD and leaves
 * `err` as it is. */
static pawl_status wait_until_free(pawl_lease_runner *runner, uint64_t interrupts, pawl_mono end,
                                   pawl_error *err)
{
    int64_t pause_us = FIRST_PAUSE_US;
    int64_t left_us;
    pawl_status st;

    for (;;) {
        pawl_error why = PAWL_ERROR_INIT;

        st = lease_wait_check(runner, &left_us, &why);
        if (st == PAWL_OK && left_us > 0 && pawli_mono_passed(end))
            return PAWL_E_HELD;
        if (st == PAWL_OK && left_us > 0) {
            int64_t next_us = with_jitter(pause_us);
            pawl_mono until =
                pawli_mono_after(pawli_mono_now(), left_us < next_us ? left_us + 1000 : next_us);
            st = lease_wait_rest(runner, interrupts, until.us < end.us ? until : end, &why);
        }
        if (st != PAWL_OK && err)
            *err = why;
        if (st != PAWL_OK || left_us == 0)
            return st;
        pause_us = pause_us * 2 < LONGEST_PAUSE_US ? pause_us * 2 : LONGEST_PAUSE_US;
    }
}

pawl_status pawli_lease_runner_acquire(pawl_lease_runner *runner, pawl_lease_grant *ret_grant,
                                       pawl_mono *ret_asked_at, pawl_error *err)
{
    const pawl_lease_runner_options *options = &runner->options;
    uint64_t interrupts = pawli_db_interrupts(runner->store->db);
    pawl_mono end = pawli_mono_after(pawli_mono_now(), options->wait_ms * 1000);
    pawl_status st;

    for (;;) {
        *ret_asked_at = pawli_lease_runner_now(runner);
        st = pawl_lease_acquire(runner->store, runner->name, runner->owner, options->ttl_ms,
                                options->owner_name, ret_grant, err);
        if (st != PAWL_E_HELD || options->wait_ms == 0)
            return st;
        st = wait_until_free(runner, interrupts, end, err);
        if (st != PAWL_OK)
            return st;
    }
}

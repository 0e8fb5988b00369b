/* src/worker/lease_runner.c - the lease runner: renews a lease, and detects its loss. */
#include "lease_runner.h"

#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include "handler_pool.h"
#include "fail.h"
#include "thread_deadline.h"
#include "log.h"
#include "platform.h"

#define FAILURES_MAX 3
#define RETRY_LEAST_US INT64_C(100000)
/* A renewal without a response within a sixth of the lease, and within this time, has failed. */
#define TRY_LEAST_US INT64_C(1000000)
#define MARGIN_LEAST_US INT64_C(50000)

const char *pawl_lease_loss_name(pawl_lease_loss loss)
{
    static const char *const names[] = {"kept", "refused", "late", "failed"};

    return (unsigned)loss < sizeof names / sizeof names[0] ? names[loss] : "unknown";
}

/* ---- clocks ---- */

static int64_t runner_ttl_us(const pawl_lease_runner *runner)
{
    return runner->options.ttl_ms * 1000;
}

pawl_mono pawli_lease_runner_now(const pawl_lease_runner *runner)
{
    return runner->options.by_steps ? runner->step_now : pawli_mono_now();
}

pawl_status pawli_lease_runner_read_clock(pawl_lease_runner *runner, pawl_error *err)
{
    pawl_wall now;
    pawl_status st = pawl_store_now(runner->store, &now, err);

    if (st != PAWL_OK)
        return st;
    pthread_mutex_lock(&runner->lock);
    runner->step_now = (pawl_mono){now.us};
    pthread_mutex_unlock(&runner->lock);
    return PAWL_OK;
}

/* Relative, because a timer counts the remaining time even when tests have replaced the clock. */
static void runner_set_timer(int fd, pawl_mono at)
{
    int64_t left = pawli_mono_left(at);
    struct itimerspec spec = {.it_value = {left / 1000000, left % 1000000 * 1000}};

    if (left == 0)
        spec.it_value.tv_nsec = 1; /* zero would disarm it */
    (void)timerfd_settime(fd, 0, &spec, NULL);
}

static pawl_mono next_renewal(const pawl_lease_runner *runner, pawl_mono from)
{
    int64_t at_us = runner_ttl_us(runner) / 100 * runner->options.renew_percent;
    int64_t most_us = runner_ttl_us(runner) / 100 * runner->options.jitter_percent;

    if (!runner->options.by_steps && most_us > 0)
        at_us += (int64_t)(pawli_random_u64() % (uint64_t)(most_us + 1));
    return pawli_mono_after(from, at_us);
}

void pawli_lease_runner_granted(pawl_lease_runner *runner, pawl_mono asked_at, pawl_wall expires_at)
{
    int64_t margin_us = runner_ttl_us(runner) / 100 > MARGIN_LEAST_US ? runner_ttl_us(runner) / 100
                                                                      : MARGIN_LEAST_US;

    runner->failures = 0;
    runner->renew_at = next_renewal(runner, asked_at);
    runner->deadline = pawli_mono_after(asked_at, runner_ttl_us(runner) - margin_us);
    atomic_store(&runner->expires_at, expires_at.us);
    if (!runner->options.by_steps)
        runner_set_timer(runner->deadline_fd, runner->deadline);
}

/* ---- losing the lease; with the lock held ---- */

static void runner_lose(pawl_lease_runner *runner, pawl_lease_loss loss)
{
    if (atomic_load(&runner->loss) != PAWL_LEASE_KEPT)
        return;
    atomic_store(&runner->loss, loss);
    (void)eventfd_write(runner->lost_fd, 1);
}

static bool runner_check_clock(pawl_lease_runner *runner)
{
    if (pawli_lease_runner_now(runner).us >= runner->deadline.us)
        runner_lose(runner, PAWL_LEASE_LATE);
    return atomic_load(&runner->loss) != PAWL_LEASE_KEPT;
}

/* A response after the deadline is too late even if it is positive: the loss may already have
 * been reported. */
static void note_renewal(pawl_lease_runner *runner, pawl_status st, pawl_mono asked_at,
                         const pawl_lease_grant *grant)
{
    int64_t retry_us =
        runner_ttl_us(runner) / 20 > RETRY_LEAST_US ? runner_ttl_us(runner) / 20 : RETRY_LEAST_US;

    if (st == PAWL_E_LOST)
        runner_lose(runner, PAWL_LEASE_REFUSED);
    if (runner_check_clock(runner))
        return;
    if (st == PAWL_OK) {
        pawli_lease_runner_granted(runner, asked_at, grant->expires_at);
        return;
    }
    runner->renew_at = pawli_mono_after(pawli_lease_runner_now(runner), retry_us);
    if (++runner->failures >= FAILURES_MAX)
        runner_lose(runner, PAWL_LEASE_FAILED);
}

/* ---- renewing ---- */

/* Three attempts must fit into the lease, and an attempt after its end is useless. */
static void runner_limit_try(const pawl_lease_runner *runner, pawl_mono deadline)
{
    int64_t try_us =
        runner_ttl_us(runner) / 6 > TRY_LEAST_US ? runner_ttl_us(runner) / 6 : TRY_LEAST_US;
    pawl_mono end = pawli_mono_after(pawli_mono_now(), try_us);

    if (!runner->options.by_steps && deadline.us < end.us)
        end = deadline;
    pawli_thread_deadline_begin(end);
}

/* Returns PAWL_OK, PAWL_E_LOST, or the error of this attempt. */
static pawl_status runner_renew(pawl_lease_runner *runner, pawl_error *err)
{
    pawl_error why = PAWL_ERROR_INIT;
    pawl_lease_grant grant = {0};
    pawl_status st = PAWL_E_LOST;

    pthread_mutex_lock(&runner->renewing);
    pthread_mutex_lock(&runner->lock);
    bool lost = runner_check_clock(runner);
    pawl_mono asked_at = pawli_lease_runner_now(runner);
    pawl_mono deadline = runner->deadline;
    pthread_mutex_unlock(&runner->lock);
    if (!lost) {
        runner_limit_try(runner, deadline);
        st = pawl_lease_renew(runner->store, runner->name, runner->owner, runner->fence,
                              runner->options.ttl_ms, &grant, &why);
        pawli_thread_deadline_end();
        pthread_mutex_lock(&runner->lock);
        note_renewal(runner, st, asked_at, &grant);
        lost = atomic_load(&runner->loss) != PAWL_LEASE_KEPT;
        pthread_mutex_unlock(&runner->lock);
        if (lost)
            pawli_log(&runner->log, PAWL_LOG_WARNING, "lease",
                      why.message[0] ? "lease '{lease}' is lost ({reason}): {error}"
                                     : "lease '{lease}' is lost ({reason})",
                      pawli_logged("lease", runner->name),
                      pawli_logged("reason", pawl_lease_loss_name(pawl_lease_runner_loss(runner))),
                      pawli_logged("error", why.message[0] ? why.message : NULL));
        else if (st != PAWL_OK)
            pawli_log(&runner->log, PAWL_LOG_WARNING, "lease",
                      "lease '{lease}' could not be renewed, retrying: {error}",
                      pawli_logged("lease", runner->name), pawli_logged("error", why.message));
    }
    pthread_mutex_unlock(&runner->renewing);
    if (st != PAWL_OK && err)
        *err = why;
    return lost ? PAWL_E_LOST : st;
}

/* ---- the thread ---- */

/* Whether it is time to renew; if not, sets the timer for the next check. */
static bool runner_is_due(pawl_lease_runner *runner)
{
    pthread_mutex_lock(&runner->lock);
    bool lost = runner_check_clock(runner);
    bool due = !lost && runner->renew_at.us <= pawli_mono_now().us;
    if (!lost && !due)
        runner_set_timer(runner->alarm_fd, runner->renew_at.us < runner->deadline.us
                                               ? runner->renew_at
                                               : runner->deadline);
    pthread_mutex_unlock(&runner->lock);
    return due;
}

/* Thread: its own. Once the lease is lost, it only waits to be stopped. */
static void *runner_keep(void *context)
{
    pawl_lease_runner *runner = context;
    struct pollfd fds[] = {{.fd = runner->wake_fd, .events = POLLIN},
                           {.fd = runner->alarm_fd, .events = POLLIN}};

    while (!atomic_load(&runner->leave)) {
        if (runner_is_due(runner)) {
            (void)runner_renew(runner, NULL);
            continue;
        }
        if (atomic_load(&runner->loss) != PAWL_LEASE_KEPT)
            fds[1].fd = -1; /* its timer is no longer needed */
        (void)poll(fds, 2, -1);
    }
    return NULL;
}

pawl_status pawli_lease_runner_start_thread(pawl_lease_runner *runner, pawl_error *err)
{
    pawl_status st = pawli_thread_start(&runner->thread, runner_keep, runner, err);

    runner->has_thread = st == PAWL_OK;
    return st;
}

void pawli_lease_runner_end_thread(pawl_lease_runner *runner)
{
    if (!runner->has_thread)
        return;
    atomic_store(&runner->leave, true);
    (void)eventfd_write(runner->wake_fd, 1);
    pthread_join(runner->thread, NULL);
    runner->has_thread = false;
}

/* ---- the application's calls ---- */

/* In the caller's thread, with no lock held. */
static void runner_report_loss(pawl_lease_runner *runner)
{
    pawl_lease_loss loss = atomic_load(&runner->loss);
    bool mine;

    if (loss == PAWL_LEASE_KEPT)
        return;
    pthread_mutex_lock(&runner->lock);
    mine = !runner->reported;
    runner->reported = true;
    pthread_mutex_unlock(&runner->lock);
    if (mine && runner->options.on_lost)
        runner->options.on_lost(runner, loss, runner->options.context);
}

bool pawl_lease_runner_lost(pawl_lease_runner *runner)
{
    if (!runner)
        return true;
    pthread_mutex_lock(&runner->lock);
    bool lost = runner->stopped || runner_check_clock(runner);
    pthread_mutex_unlock(&runner->lock);
    runner_report_loss(runner);
    return lost;
}

pawl_status pawl_lease_runner_check(pawl_lease_runner *runner, pawl_error *err)
{
    static const char *const reasons[] = {
        [PAWL_LEASE_KEPT] = "it was released",
        [PAWL_LEASE_REFUSED] = "the database reports that it expired or was released by force",
        [PAWL_LEASE_LATE] = "it was not renewed in time",
        [PAWL_LEASE_FAILED] = "three consecutive renewals failed",
    };

    if (!runner)
        return pawli_fail(err, PAWL_E_INVALID, "the runner must not be NULL");
    if (!pawl_lease_runner_lost(runner))
        return PAWL_OK;
    return pawli_fail(err, PAWL_E_LOST,
                      "lease '%.255s' is lost: %s; stop the work that it protects", runner->name,
                      reasons[atomic_load(&runner->loss)]);
}

pawl_status pawl_lease_runner_renew_now(pawl_lease_runner *runner, pawl_error *err)
{
    pawl_status st = pawl_lease_runner_check(runner, err);

    if (st != PAWL_OK)
        return st;
    st = runner_renew(runner, err);
    return st == PAWL_E_LOST ? pawl_lease_runner_check(runner, err) : st;
}

pawl_status pawl_lease_runner_step(pawl_lease_runner *runner, pawl_error *err)
{
    pawl_status st;

    if (!runner || !runner->options.by_steps)
        return pawli_fail(err, PAWL_E_MISUSE,
                          "only a runner with the option by_steps can be stepped");
    st = pawli_lease_runner_read_clock(runner, err);
    if (st == PAWL_OK)
        st = pawl_lease_runner_check(runner, err);
    if (st != PAWL_OK)
        return st;
    pthread_mutex_lock(&runner->lock);
    bool due = runner->renew_at.us <= runner->step_now.us;
    pthread_mutex_unlock(&runner->lock);
    return due ? pawl_lease_runner_renew_now(runner, err) : PAWL_OK;
}

pawl_lease_loss pawl_lease_runner_loss(const pawl_lease_runner *runner)
{
    return runner ? atomic_load(&runner->loss) : PAWL_LEASE_KEPT;
}

int pawl_lease_runner_fd(const pawl_lease_runner *runner)
{
    return runner->any_fd;
}

int64_t pawl_lease_runner_fence(const pawl_lease_runner *runner)
{
    return runner->fence;
}

pawl_owner pawl_lease_runner_owner(const pawl_lease_runner *runner)
{
    return runner->owner;
}

const char *pawl_lease_runner_name(const pawl_lease_runner *runner)
{
    return runner->name;
}

pawl_wall pawl_lease_runner_expires_at(const pawl_lease_runner *runner)
{
    return (pawl_wall){atomic_load(&runner->expires_at)};
}

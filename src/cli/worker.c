/* src/cli/worker.c - the loop of `pawl work`: one thread, up to N commands at a time. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "fail.h"
#include "memory.h"
#include "mono.h"
#include "when.h"
#include "worker.h"

/* ---- signals ---- */

/* From here on they are read, not delivered; commands start with the mask as it was. */
static pawl_status take_signals(cli_worker *worker, pawl_error *err)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t wanted;

    sigemptyset(&wanted);
    sigaddset(&wanted, SIGINT);
    sigaddset(&wanted, SIGTERM);
    sigaddset(&wanted, SIGHUP);
    sigaddset(&wanted, SIGCHLD);
    sigaction(SIGCHLD, &action, NULL); /* ignored (it may be inherited) would lose exit statuses */
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action,
              NULL); /* a command that does not read its stdin is no reason to end */
    sigprocmask(SIG_BLOCK, &wanted, &worker->command.signal_mask);
    worker->signal_fd = signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC);
    if (worker->signal_fd < 0)
        return cli_fail(err, PAWL_E_IO, "cannot receive signals: %s", strerror(errno));
    return PAWL_OK;
}

static void read_signals(cli_worker *worker)
{
    struct signalfd_siginfo info;

    while (read(worker->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            continue;
        if (worker->stop_signal != 0) {
            worker->hurry = true;
            continue;
        }
        worker->stop_signal = (int)info.ssi_signo;
        worker->stopping = true;
    }
}

/* ---- stopping ---- */

static bool busy(const cli_worker *worker)
{
    for (size_t i = 0; i < worker->options->concurrency; i++)
        if (worker->jobs[i].phase != CLI_JOB_FREE)
            return true;
    return false;
}

static void begin_grace(cli_worker *worker)
{
    char grace[CLI_WHEN_SIZE];

    if (!worker->stopping || worker->grace_end.us != 0)
        return;
    worker->grace_end = cli_mono_after(worker->now, worker->options->grace_ms);
    if (busy(worker) && worker->options->talk)
        cli_note("stopping; running commands have %s to finish (a second signal ends them now)",
                 cli_span_text(worker->options->grace_ms, grace));
}

/* Past the grace period, or at the second signal: end the commands, their attempt not counted. */
static void end_jobs(cli_worker *worker)
{
    bool over = worker->stopping && cli_mono_reached(worker->now, worker->grace_end);

    for (size_t i = 0; i < worker->options->concurrency; i++) {
        cli_job *job = &worker->jobs[i];
        if (job->phase == CLI_JOB_RUNNING && (over || worker->hurry))
            cli_job_stop(job, worker->now, CLI_VERDICT_RELEASE, NULL);
        if (job->phase == CLI_JOB_ENDING &&
            (worker->hurry || cli_mono_reached(worker->now, job->kill_at))) {
            cli_child_signal(&job->child, SIGKILL);
            job->kill_at = cli_mono_after(worker->now, CLI_SECOND_MS);
        }
    }
}

static void stop_slow_jobs(cli_worker *worker)
{
    int64_t limit_ms = worker->options->run_timeout_ms;
    char limit[CLI_WHEN_SIZE];

    for (size_t i = 0; limit_ms > 0 && i < worker->options->concurrency; i++) {
        cli_job *job = &worker->jobs[i];
        if (job->phase == CLI_JOB_RUNNING &&
            cli_mono_reached(worker->now, cli_mono_after(job->started, limit_ms)))
            cli_job_stop(job, worker->now, CLI_VERDICT_ABANDON,
                         cli_print("ran longer than %s", cli_span_text(limit_ms, limit)));
    }
}

/* ---- a turn ---- */

static void look_after_jobs(cli_worker *worker)
{
    for (size_t i = 0; i < worker->options->concurrency; i++) {
        cli_job *job = &worker->jobs[i];
        if (job->phase == CLI_JOB_RUNNING || job->phase == CLI_JOB_ENDING) {
            cli_child_pump(&job->child);
            if (cli_child_ended(&job->child, job->phase == CLI_JOB_ENDING))
                cli_job_judge(job, worker->now);
        }
    }
}

static void answer_jobs(cli_worker *worker)
{
    for (size_t i = 0; i < worker->options->concurrency; i++)
        cli_worker_answer(worker, &worker->jobs[i]);
}

static bool finished(const cli_worker *worker)
{
    const cli_worker_options *options = worker->options;

    if (busy(worker))
        return false;
    return worker->stopping || (options->max > 0 && worker->claimed >= options->max) ||
           (options->until_empty && worker->empty && !worker->down);
}

static void sooner(pawl_mono *moment, pawl_mono other)
{
    if (other.us < moment->us)
        *moment = other;
}

static void job_wake_up(const cli_worker *worker, const cli_job *job, pawl_mono *moment)
{
    if (job->phase == CLI_JOB_ANSWERING) {
        sooner(moment, job->answer_at);
        return;
    }
    if (job->phase == CLI_JOB_ENDING)
        sooner(moment, job->kill_at);
    if (job->phase == CLI_JOB_ENDING && job->verdict == CLI_VERDICT_DROP)
        return;
    sooner(moment, job->renew_at);
    sooner(moment, job->lease_end);
    if (job->phase == CLI_JOB_RUNNING && worker->options->run_timeout_ms > 0)
        sooner(moment, cli_mono_after(job->started, worker->options->run_timeout_ms));
    if (job->phase == CLI_JOB_RUNNING && worker->stopping)
        sooner(moment, worker->grace_end);
}

/* When the next turn is due even if nothing happens. */
static int wait_ms(const cli_worker *worker)
{
    pawl_mono moment = cli_mono_after(worker->now, CLI_MINUTE_MS);
    bool room = false;

    for (size_t i = 0; i < worker->options->concurrency; i++) {
        if (worker->jobs[i].phase == CLI_JOB_FREE)
            room = true;
        else
            job_wake_up(worker, &worker->jobs[i], &moment);
    }
    if (!worker->stopping && worker->down) {
        sooner(&moment, worker->retry_at);
    } else if (!worker->stopping) {
        bool may_claim = worker->options->max == 0 || worker->claimed < worker->options->max;
        if (room && may_claim)
            sooner(&moment, worker->claim_at);
        sooner(&moment, worker->reap_at);
        sooner(&moment, worker->retain_at);
        sooner(&moment, worker->fold_at);
    }
    int64_t us = moment.us - cli_mono_now().us;
    return us <= 0 ? 0 : (int)((us + 999) / 1000);
}

static void wait_for_something(cli_worker *worker, struct pollfd *fds)
{
    size_t count = 0;

    fds[count++] = (struct pollfd){worker->signal_fd, POLLIN, 0};
    for (size_t i = 0; i < worker->options->concurrency; i++) {
        const cli_job *job = &worker->jobs[i];
        if (job->phase == CLI_JOB_RUNNING || job->phase == CLI_JOB_ENDING)
            count += cli_child_poll_fds(&job->child, fds + count);
    }
    poll(fds, count, wait_ms(worker));
    worker->now = cli_mono_now();
}

pawl_status cli_worker_run(cli_worker *worker, pawl_error *err)
{
    size_t places = worker->options->concurrency;
    CLI_AUTO_FREE struct pollfd *fds = cli_alloc(1 + places * CLI_CHILD_FDS, sizeof *fds);
    pawl_status st = take_signals(worker, err);

    if (st != PAWL_OK)
        return st;
    worker->now = cli_mono_now();
    worker->reap_at = worker->retain_at = worker->claim_at = worker->now;
    worker->fold_at = worker->now;
    worker->jobs = cli_alloc(places, sizeof *worker->jobs);
    srandom((unsigned)getpid() ^ (unsigned)worker->now.us); /* for jitter only */
    for (;;) {
        read_signals(worker);
        begin_grace(worker);
        look_after_jobs(worker);
        cli_worker_renew(worker);
        answer_jobs(worker);
        stop_slow_jobs(worker);
        end_jobs(worker);
        cli_worker_housekeep(worker);
        cli_worker_claim(worker);
        if (finished(worker))
            break;
        wait_for_something(worker, fds);
    }
    free(worker->jobs);
    close(worker->signal_fd);
    if (worker->fatal != PAWL_OK)
        *err = worker->fatal_error;
    return worker->fatal;
}

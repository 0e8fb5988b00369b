/* src/cli/watch.c - the thread of `pawl work` that reads signals and draws the progress line. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "fail.h"
#include "memory.h"
#include "mono.h"
#include "progress.h"
#include "screen.h"
#include "when.h"
#include "work.h"

#define HURRY_EVERY_MS 10

static pawl_worker_stats stats_of(cli_work *work)
{
    pawl_worker_stats stats = PAWL_WORKER_STATS_INIT;

    pawl_worker_read_stats(work->worker, &stats);
    return stats;
}

/* ---- signals ---- */

/* The first: gently. The second: end the commands. The third: wait for nobody. */
typedef struct urgency {
    int signals;
    bool forced; /* the worker was told twice */
} urgency;

static void force(cli_work *work, urgency *now)
{
    if (now->forced)
        return;
    now->forced = true;
    cli_work_stop(work);
    pawl_worker_stop(work->worker);
}

static void say_stopping(cli_work *work)
{
    char grace[CLI_WHEN_SIZE];

    if (!work->options->talk)
        return;
    if (stats_of(work).in_hand > 0)
        cli_note("stopping; running commands have %s to finish (a second signal ends them now)",
                 cli_span_text(work->options->grace_ms, grace));
    else
        cli_note("stopping");
}

static void read_signals(cli_work *work, urgency *now)
{
    struct signalfd_siginfo info;

    while (read(work->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        now->signals++;
        if (now->signals == 1) {
            atomic_store(&work->stop_signal, (int)info.ssi_signo);
            say_stopping(work);
            cli_work_stop(work);
        } else if (now->signals == 2) {
            (void)eventfd_write(work->hurry_fd, 1);
        } else {
            force(work, now);
        }
    }
}

/* Their answers are handed in when no handler runs any more: only then may the worker be told that
 * it must not wait, or it would give back what has just been done. */
static void hurry(cli_work *work, urgency *now)
{
    if (now->signals >= 2 && stats_of(work).running == 0)
        force(work, now);
}

/* ---- the progress line ---- */

/* How long until it should be drawn again; -1: until cli_watch_touch(). */
static int draw(cli_work *work, cli_progress *progress, pawl_mono *next_at)
{
    pawl_mono now = cli_mono_now();
    CLI_AUTO_FREE char *line = NULL;
    bool moves;

    if (!work->options->progress)
        return -1;
    if (!cli_mono_reached(now, *next_at))
        return (int)cli_mono_ms_between(now, *next_at) + 1;
    atomic_store(&work->dozes, true); /* before looking, so that no start is missed */
    pawl_worker_stats stats = stats_of(work);
    line = cli_progress_line(progress, &stats, &moves);
    cli_screen_draw(line);
    *next_at = cli_mono_after(now, CLI_PROGRESS_EVERY_MS);
    if (!moves)
        return -1;
    atomic_store(&work->dozes, false);
    return CLI_PROGRESS_EVERY_MS;
}

/* ---- the thread ---- */

static void rest(cli_work *work, int timeout_ms)
{
    struct pollfd fds[] = {{work->signal_fd, POLLIN, 0}, {work->wake_fd, POLLIN, 0}};
    eventfd_t count;

    (void)poll(fds, 2, timeout_ms);
    (void)eventfd_read(work->wake_fd, &count);
}

static void *watch(void *context)
{
    cli_work *work = context;
    cli_progress progress;
    urgency now = {0};
    pawl_mono draw_at = {0};

    cli_progress_init(&progress, &work->options->topics);
    while (!atomic_load(&work->leave)) {
        read_signals(work, &now);
        hurry(work, &now);
        int wait_ms = draw(work, &progress, &draw_at);
        rest(work, now.signals >= 2 && !now.forced ? HURRY_EVERY_MS : wait_ms);
    }
    cli_progress_done(&progress);
    return NULL;
}

/* ---- life ---- */

pawl_status cli_watch_init(cli_work *work, pawl_error *err)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t wanted;

    sigemptyset(&wanted);
    sigaddset(&wanted, SIGINT);
    sigaddset(&wanted, SIGTERM);
    sigaddset(&wanted, SIGHUP);
    sigaction(SIGCHLD, &action, NULL); /* ignored (it may be inherited) would lose exit statuses */
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL); /* a command that does not read is no reason to end */
    pthread_sigmask(SIG_BLOCK, &wanted, &work->command.signal_mask);
    work->signal_fd = signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC);
    work->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    work->hurry_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (work->signal_fd < 0 || work->wake_fd < 0 || work->hurry_fd < 0)
        return cli_fail(err, PAWL_E_IO, "cannot receive signals: %s", strerror(errno));
    return PAWL_OK;
}

pawl_status cli_watch_start(cli_work *work, pawl_error *err)
{
    int problem;

    if (work->options->progress)
        cli_screen_begin();
    problem = pthread_create(&work->watcher, NULL, watch, work);
    if (problem != 0) {
        cli_screen_end();
        return cli_fail(err, PAWL_E_NOMEM, "cannot start a thread: %s", strerror(problem));
    }
    return PAWL_OK;
}

void cli_watch_end(cli_work *work)
{
    atomic_store(&work->leave, true);
    (void)eventfd_write(work->wake_fd, 1);
    pthread_join(work->watcher, NULL);
    cli_screen_end();
}

void cli_watch_done(cli_work *work)
{
    const int fds[] = {work->signal_fd, work->wake_fd, work->hurry_fd};

    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

void cli_watch_touch(cli_work *work)
{
    if (atomic_exchange(&work->dozes, false))
        (void)eventfd_write(work->wake_fd, 1);
}

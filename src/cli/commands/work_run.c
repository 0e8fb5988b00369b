/* src/cli/commands/work_run.c - `pawl work` while it runs: the worker, signals, the progress line.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "console.h"
#include "fail.h"
#include "alloc.h"
#include "terminal_line.h"
#include "terminal_text.h"
#include "units.h"
#include "work_run.h"
#include "platform.h"

PAWLI_AUTO_DEFINE(pawl_worker, pawl_worker_free);

#define PROGRESS_EVERY_MS 200
#define PROGRESS_SAMPLES 25 /* the rate is that of the last 5 s */
#define STOP_CHECK_MS 10

/* ---- the progress line ---- */

typedef struct progress {
    char *label; /* the topics */
    struct {
        pawl_mono at;
        int64_t done;
    } samples[PROGRESS_SAMPLES];
    size_t count; /* samples taken so far */
} progress;

static void init_progress(progress *of, const cli_topics *topics)
{
    *of = (progress){0};
    if (topics->count == 1)
        of->label = cli_text_clean(topics->items[0].name, strlen(topics->items[0].name), true);
    else if (topics->count == 0)
        of->label = cli_copy("all topics");
    else
        of->label = cli_print("%zu topics", topics->count);
}

/* Messages per second since the oldest sample; takes one. */
static double progress_rate(progress *of, int64_t done)
{
    pawl_mono now = pawli_mono_now();
    size_t oldest = of->count < PROGRESS_SAMPLES ? 0 : of->count % PROGRESS_SAMPLES;
    double passed_s = (double)(now.us - of->samples[oldest].at.us) / 1e6;
    int64_t more = done - of->samples[oldest].done;
    size_t place = of->count % PROGRESS_SAMPLES;
    bool first = of->count == 0;

    of->samples[place].at = now;
    of->samples[place].done = done;
    of->count++;
    return first || passed_s <= 0 ? 0 : (double)more / passed_s;
}

/*
 * "mail: 12 running, 3,401 done (210/s), 2 retried, 1 failed"; free() it. *ret_moves: it will
 * change soon, so update it again in PROGRESS_EVERY_MS.
 */
static char *progress_line(progress *of, const pawl_worker_stats *stats, bool *ret_moves)
{
    char running[CLI_WHEN_SIZE], done[CLI_WHEN_SIZE], retried[CLI_WHEN_SIZE], failed[CLI_WHEN_SIZE];
    char speed[CLI_WHEN_SIZE] = "";
    double per_second = progress_rate(of, stats->done);

    if (per_second > 0)
        snprintf(speed, sizeof speed, " (%.*f/s)", per_second < 10 ? 1 : 0, per_second);
    *ret_moves = per_second > 0 || stats->in_flight > 0 || stats->last_error[0];
    return cli_print("%s: %s running, %s done%s, %s retried, %s failed%s", of->label,
                     cli_count_text(stats->running, running), cli_count_text(stats->done, done),
                     speed, cli_count_text(stats->retried, retried),
                     cli_count_text(stats->failed, failed),
                     stats->last_error[0] ? ", waiting for the database" : "");
}

static pawl_worker_stats worker_stats(cli_work *work)
{
    pawl_worker_stats stats = PAWL_WORKER_STATS_INIT;

    pawl_worker_get_stats(work->worker, &stats);
    return stats;
}

/* How long until it should be drawn again; -1: until cli_work_touch_progress(). */
static int draw_progress(cli_work *work, progress *of, pawl_mono *next_at)
{
    PAWLI_AUTO_FREE char *line = NULL;
    bool moves;

    if (!work->options->progress)
        return -1;
    if (!pawli_mono_passed(*next_at))
        return pawli_mono_left_ms(*next_at);
    atomic_store(&work->progress_idle, true); /* before reading, so that no start is missed */
    pawl_worker_stats stats = worker_stats(work);
    line = progress_line(of, &stats, &moves);
    cli_terminal_line_draw(line);
    *next_at = pawli_mono_after(pawli_mono_now(), PROGRESS_EVERY_MS * INT64_C(1000));
    if (!moves)
        return -1;
    atomic_store(&work->progress_idle, false);
    return PROGRESS_EVERY_MS;
}

void cli_work_touch_progress(cli_work *work)
{
    if (atomic_exchange(&work->progress_idle, false))
        (void)eventfd_write(work->wake_fd, 1);
}

/* ---- stopping ---- */

/* Stops claiming. Any thread, any number of times. */
static void stop_worker(cli_work *work)
{
    if (!atomic_exchange(&work->stopping, true)) /* twice would mean: at once */
        pawl_worker_request_stop(work->worker);
}

void cli_work_break(cli_work *work, const char *format, ...)
{
    char message[sizeof work->broken.message];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&work->lock);
    if (work->broken.status == PAWL_OK)
        (void)pawli_fail(&work->broken, PAWL_E_IO, "%s", message);
    pthread_mutex_unlock(&work->lock);
    stop_worker(work);
}

/* The first signal: finish what runs. The second: end the commands. The third: do not wait. */
typedef struct stop_stage {
    int signals;
    bool forced; /* the worker was asked to stop twice */
} stop_stage;

static void force_worker_stop(cli_work *work, stop_stage *now)
{
    if (now->forced)
        return;
    now->forced = true;
    stop_worker(work);
    pawl_worker_request_stop(work->worker);
}

static void announce_stop(const cli_work *work, bool busy)
{
    if (work->options->talk && busy)
        cli_note("stopping; running commands have %s to finish (a second signal ends them now)",
                 cli_span_text(work->options->grace_ms, CLI_ROOM));
    else if (work->options->talk)
        cli_note("stopping");
}

static void take_signal(cli_work *work, stop_stage *now, int number)
{
    now->signals++;
    if (now->signals == 1) {
        atomic_store(&work->stop_signal, number);
        bool busy = worker_stats(work).in_flight > 0;
        stop_worker(work); /* before it is said, so that it is true then */
        announce_stop(work, busy);
    } else if (now->signals == 2) {
        (void)eventfd_write(work->stop_now_fd, 1);
    } else {
        force_worker_stop(work, now);
    }
}

/* Results are stored when no handler runs any more. Only then may the worker stop without waiting;
 * earlier it would release messages that have just been done. */
static void stop_when_handlers_ended(cli_work *work, stop_stage *now)
{
    if (now->signals >= 2 && worker_stats(work).running == 0)
        force_worker_stop(work, now);
}

/* ---- the thread that reads signals and draws ---- */

static void *watch_work(void *context)
{
    cli_work *work = context;
    progress shown;
    stop_stage now = {0};
    pawl_mono draw_at = {0};
    eventfd_t ignored;

    init_progress(&shown, &work->options->topics);
    while (!atomic_load(&work->leave)) {
        stop_when_handlers_ended(work, &now);
        int wait_ms = draw_progress(work, &shown, &draw_at);
        if (now.signals >= 2 && !now.forced)
            wait_ms = STOP_CHECK_MS;
        int number = cli_signals_wait(&work->signals, work->wake_fd, wait_ms);
        (void)eventfd_read(work->wake_fd, &ignored);
        if (number != 0)
            take_signal(work, &now, number);
    }
    free(shown.label);
    return NULL;
}

static pawl_status open_watch(cli_work *work, pawl_error *err)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    pawl_status st = cli_signals_open(&work->signals, numbers, PAWLI_COUNT(numbers), err);

    if (st != PAWL_OK)
        return st;
    cli_signals_ignore_pipe(); /* a command that does not read is no reason to end */
    work->command.sigmask = &work->signals.before;
    work->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    work->stop_now_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (work->wake_fd < 0 || work->stop_now_fd < 0)
        return pawli_fail(err, PAWL_E_IO, "cannot receive signals: %s", strerror(errno));
    return PAWL_OK;
}

static void close_watch(cli_work *work)
{
    cli_signals_close(&work->signals);
    if (work->wake_fd >= 0)
        close(work->wake_fd);
    if (work->stop_now_fd >= 0)
        close(work->stop_now_fd);
}

static pawl_status start_watch(cli_work *work, pawl_error *err)
{
    int problem;

    if (work->options->progress)
        cli_terminal_line_begin();
    problem = pthread_create(&work->watcher, NULL, watch_work, work);
    if (problem != 0) {
        cli_terminal_line_end();
        return pawli_fail(err, PAWL_E_NOMEM, "cannot start a thread: %s", strerror(problem));
    }
    return PAWL_OK;
}

static void end_watch(cli_work *work)
{
    atomic_store(&work->leave, true);
    (void)eventfd_write(work->wake_fd, 1);
    pthread_join(work->watcher, NULL);
    cli_terminal_line_end();
}

/* ---- the worker ---- */

/* One command for all topics, or for each that was named. */
static pawl_status register_work_topics(cli_work *work, pawl_error *err)
{
    const cli_topics *topics = &work->options->topics;
    pawl_status st = PAWL_OK;

    if (topics->count == 0)
        return pawl_worker_handle(work->worker, NULL, cli_work_command_handle, work, NULL, err);
    for (size_t i = 0; i < topics->count && st == PAWL_OK; i++) {
        pawl_handler_options limit = PAWL_HANDLER_OPTIONS_INIT;
        limit.concurrency = topics->items[i].limit;
        st = pawl_worker_handle(work->worker, topics->items[i].name, cli_work_command_handle, work,
                                &limit, err);
    }
    return st;
}

static pawl_status run_watched_worker(cli_work *work, pawl_error *err)
{
    pawl_status st = start_watch(work, err);

    if (st != PAWL_OK)
        return st;
    st = pawl_worker_run(work->worker, err);
    end_watch(work);
    if (work->broken.status == PAWL_OK)
        return st;
    *err = work->broken; /* the reason for the rest */
    return work->broken.status;
}

pawl_status cli_work_run(cli_work *work, pawl_store *store, pawl_worker_options options,
                         pawl_worker_stats *ret_stats, pawl_error *err)
{
    PAWLI_AUTO(pawl_worker) worker = NULL;
    pawl_status st = open_watch(work, err);

    if (st == PAWL_OK) {
        options.observer = (pawl_observer){work, cli_report_result, cli_report_store};
        st = pawl_worker_new(store, &options, &worker, err);
    }
    if (st == PAWL_OK) {
        work->worker = worker;
        st = register_work_topics(work, err);
    }
    if (st == PAWL_OK) {
        st = run_watched_worker(work, err);
        pawl_worker_get_stats(worker, ret_stats);
    }
    close_watch(work);
    return st;
}

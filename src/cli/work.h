/*
 * src/cli/work.h - `pawl work`: the library's worker, whose handler runs a command.
 *
 * The thread that runs the worker claims messages, stores results and prints them (report.c). The
 * worker's threads run one command each (errand.c). One more thread reads signals and draws the
 * progress line (watch.c).
 */
#ifndef CLI_WORK_H
#define CLI_WORK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <pawl/observe.h>
#include <pawl/worker.h>

#include "child.h"
#include "topics.h"

typedef struct cli_work_options {
    cli_topics topics;
    int64_t grace_ms;
    int64_t run_timeout_ms; /* 0: none */
    bool talk;              /* print one line per message */
    bool progress;          /* show a progress line at the bottom of the terminal */
} cli_work_options;

typedef struct cli_work {
    pawl_worker *worker;
    const cli_work_options *options;
    cli_command command;
    int hurry_fd; /* an eventfd; readable from the second signal on: end commands now */

    /* Used by watch.c: */
    pthread_t watcher;
    int signal_fd;
    int wake_fd; /* an eventfd: check again */
    atomic_bool leave;
    atomic_bool dozes;      /* it will not draw before cli_watch_touch() */
    atomic_int stop_signal; /* the first signal received; 0: none */

    atomic_bool stopping;
    pthread_mutex_t lock; /* guards the next */
    pawl_error broken;    /* why it stops by itself; PAWL_OK: it does not */
} cli_work;

#define CLI_WORK_INIT                                                                              \
    {                                                                                              \
        .signal_fd = -1, .wake_fd = -1, .hurry_fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER,         \
        .broken = PAWL_ERROR_INIT                                                                  \
    }

/*
 * Works until a signal, a limit of the options, or a permanent failure. *ret_stats is written once
 * a worker has existed. Once per process.
 */
pawl_status cli_work_run(cli_work *work, pawl_store *store, pawl_worker_options options,
                         pawl_worker_stats *ret_stats, pawl_error *err);

/* Stops claiming. Any thread, any number of times. */
void cli_work_stop(cli_work *work);
/* The same, because this machine cannot do the work. The first reason is kept. */
void cli_work_break(cli_work *work, const char *format, ...) PAWL_PRINTF(2, 3);

/* How long it may take to end a command: TERM, after 5 s KILL. */
#define CLI_JOB_ENDS_MS 6000
/* errand.c: the handler; `context` is the cli_work. */
pawl_verdict cli_errand_handle(pawl_task *task, void *context);

/* report.c: the observer's callbacks; `context` is the cli_work. */
void cli_report_settled(void *context, const pawl_settled *what);
void cli_report_store(void *context, const pawl_error *err);

/*
 * watch.c: from now on signals are read, not delivered; commands start with the original mask. Call
 * it before any other thread is started.
 */
pawl_status cli_watch_init(cli_work *work, pawl_error *err);
pawl_status cli_watch_start(cli_work *work, pawl_error *err);
void cli_watch_end(cli_work *work);
void cli_watch_done(cli_work *work);
/* A command has started: there may be something to draw. Any thread. */
void cli_watch_touch(cli_work *work);

#endif

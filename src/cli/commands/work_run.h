/*
 * src/cli/commands/work_run.h - `pawl work`: the library's worker, whose handler runs a command.
 *
 * The thread that runs the worker claims messages, stores results and prints them. The worker's
 * threads run one command each (work_command.c). One more thread reads signals and draws the
 * progress line (work_run.c).
 */
#ifndef CLI_WORK_RUN_H
#define CLI_WORK_RUN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <pawl/observe.h>
#include <pawl/worker.h>

#include "args.h"
#include "child.h"

#define CLI_COMMANDS_MAX 256 /* concurrent, in total and per topic */

typedef struct cli_topic {
    char *name;
    int limit; /* 0: no limit of its own */
} cli_topic;

typedef struct cli_topics {
    cli_topic *items;
    size_t count; /* 0: all topics */
} cli_topics;

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
    int stop_now_fd; /* an eventfd; readable from the second signal on: end commands now */

    /* Of the thread that reads signals: */
    pthread_t watcher;
    cli_signals signals;
    int wake_fd; /* an eventfd: check again */
    atomic_bool leave;
    atomic_bool progress_idle; /* it will not draw before cli_work_touch_progress() */
    atomic_int stop_signal;    /* the first signal received; 0: none */

    atomic_bool stopping;
    pthread_mutex_t lock; /* guards the next */
    pawl_error broken;    /* why it stops by itself; PAWL_OK: it does not */
} cli_work;

#define CLI_WORK_INIT                                                                              \
    {                                                                                              \
        .signals = CLI_SIGNALS_INIT, .wake_fd = -1, .stop_now_fd = -1,                             \
        .lock = PTHREAD_MUTEX_INITIALIZER, .broken = PAWL_ERROR_INIT                               \
    }

/*
 * Works until a signal, a limit of the options, or a permanent failure. *ret_stats is written once
 * a worker has existed. Once per process.
 */
pawl_status cli_work_run(cli_work *work, pawl_store *store, pawl_worker_options options,
                         pawl_worker_stats *ret_stats, pawl_error *err);

/* Stops claiming, because this machine cannot do the work. The first reason is kept. Any thread. */
void cli_work_break(cli_work *work, const char *format, ...) PAWL_PRINTF(2, 3);
/* A command has started: there may be something to draw. Any thread. */
void cli_work_touch_progress(cli_work *work);

/* How long it may take to end a command: TERM, after 5 s KILL. */
#define CLI_COMMAND_ENDS_MS (CLI_KILL_AFTER_MS + 1000)
/* The handler; `context` is the cli_work. */
pawl_result cli_work_command_handle(pawl_task *task, void *context);
/* The observer's callbacks; `context` is the cli_work. */
void cli_report_result(void *context, const pawl_message_result *what);
void cli_report_store(void *context, const pawl_error *err);

#endif

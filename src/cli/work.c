/* src/cli/work.c - `pawl work`: the library's worker, whose handler runs a command. */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>

#include "fail.h"
#include "memory.h"
#include "work.h"

CLI_AUTO_DEFINE(pawl_worker, pawl_worker_free);

void cli_work_stop(cli_work *work)
{
    if (!atomic_exchange(&work->stopping, true)) /* twice would mean: at once */
        pawl_worker_stop(work->worker);
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
        (void)cli_fail(&work->broken, PAWL_E_IO, "%s", message);
    pthread_mutex_unlock(&work->lock);
    cli_work_stop(work);
}

/* One command for all topics, or for each that was named. */
static pawl_status register_topics(cli_work *work, pawl_error *err)
{
    const cli_topics *topics = &work->options->topics;
    pawl_status st = PAWL_OK;

    if (topics->count == 0)
        return pawl_worker_handle(work->worker, NULL, cli_errand_handle, work, NULL, err);
    for (size_t i = 0; i < topics->count && st == PAWL_OK; i++) {
        pawl_handler_options limit = PAWL_HANDLER_OPTIONS_INIT;
        limit.concurrency = topics->items[i].limit;
        st = pawl_worker_handle(work->worker, topics->items[i].name, cli_errand_handle, work,
                                &limit, err);
    }
    return st;
}

static pawl_status run_watched(cli_work *work, pawl_error *err)
{
    pawl_status st = cli_watch_start(work, err);

    if (st != PAWL_OK)
        return st;
    st = pawl_worker_run(work->worker, err);
    cli_watch_end(work);
    if (work->broken.status == PAWL_OK)
        return st;
    *err = work->broken; /* the reason for the rest */
    return work->broken.status;
}

pawl_status cli_work_run(cli_work *work, pawl_store *store, pawl_worker_options options,
                         pawl_worker_stats *ret_stats, pawl_error *err)
{
    CLI_AUTO(pawl_worker) worker = NULL;
    pawl_status st = cli_watch_init(work, err);

    if (st == PAWL_OK) {
        options.observer = (pawl_observer){work, cli_report_settled, cli_report_store};
        st = pawl_worker_new(store, &options, &worker, err);
    }
    if (st == PAWL_OK) {
        work->worker = worker;
        st = register_topics(work, err);
    }
    if (st == PAWL_OK) {
        st = run_watched(work, err);
        pawl_worker_read_stats(worker, ret_stats);
    }
    cli_watch_done(work);
    return st;
}

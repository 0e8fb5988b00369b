/*
 * examples/job.c - a long-running job that reports its progress, on any number of machines.
 *
 *     job URL [NAME [RUNS]]
 *
 * Handles runs of the job "sample" until Ctrl-C, or until it has finished RUNS of them. NAME
 * appears in its output. The job is created by plain SQL, before or while this runs:
 *
 *     psql DATABASE -f job_seed_postgres.sql
 *     sqlite3 FILE < job_seed_sqlite.sql
 *
 * Start it several times on the same database: each run is handled by one of the processes. Kill
 * the one that is handling a run, and another handles that run again when its lease has expired.
 *
 * Build it against an installed pawl:
 *     cc job.c $(pkg-config --cflags --libs pawl)
 */
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <pawl/pawl.h>

#define TOPIC "sample"
#define STEPS 5
#define SECONDS_MAX 3600

static pawl_worker *worker; /* for the signal handler */

/* Prints one line: time, process, event. */
static void report(const char *who, const char *format, ...) PAWL_PRINTF(2, 3);
static void report(const char *who, const char *format, ...)
{
    struct timespec now;
    struct tm tm;
    char line[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    printf("%02d:%02d:%02d.%03ldZ  %s: %s\n", tm.tm_hour, tm.tm_min, tm.tm_sec,
           now.tv_nsec / 1000000, who, line);
    fflush(stdout);
}

/* The example exits on any unexpected error; an application would check err->retryable. */
static void expect(pawl_status status, const pawl_error *err)
{
    if (status == PAWL_OK)
        return;
    pawl_error_print(stderr, err);
    exit(pawl_status_exit(status));
}

/* Works for a while. False if the result is no longer needed: the run was cancelled or has timed
 * out, its lease is lost, or the worker is shutting down. */
static bool work_for(pawl_task *task, int ms)
{
    struct pollfd cancelled = {-1, POLLIN, 0};
    pawl_error err = PAWL_ERROR_INIT;

    if (pawl_task_cancel_fd(task, &cancelled.fd, &err) != PAWL_OK)
        return false;
    return poll(&cancelled, 1, ms) == 0;
}

/* The worker calls this for each run, and renews the lease meanwhile. */
static pawl_result handle(pawl_task *task, void *context)
{
    const char *name = context;
    const pawl_message *message = pawl_task_message(task);
    long long run = pawl_message_run_id(message);
    double seconds = strtod(pawl_message_payload(message, NULL), NULL);
    pawl_error err = PAWL_ERROR_INIT;
    char text[64];
    int size;

    if (!(seconds >= 0 && seconds <= SECONDS_MAX)) {
        pawl_task_set_error(task, "the payload must be a number of seconds, at most 3600");
        return PAWL_FAIL;
    }
    report(name, "run %lld starts, attempt %d, %g s", run, pawl_task_attempt(task), seconds);
    for (int step = 1; step <= STEPS; step++) {
        if (!work_for(task, (int)(seconds * 1000 / STEPS))) {
            report(name, "run %lld was cancelled", run);
            return PAWL_RETRY;
        }
        snprintf(text, sizeof text, "%d %%", 100 * step / STEPS);
        report(name, "run %lld: %s", run, text);
        if (pawl_task_progress(task, text, &err) != PAWL_OK) /* visible to others in `pawl show` */
            report(name, "run %lld: %s", run, err.message);
    }
    size = snprintf(text, sizeof text, "%.30s worked for %g s", name, seconds);
    if (pawl_task_output(task, text, (size_t)size, &err) != PAWL_OK) /* stored in the run history */
        report(name, "run %lld: %s", run, err.message);
    report(name, "run %lld ends", run);
    return PAWL_DONE;
}

static void on_signal(int number)
{
    (void)number;
    pawl_worker_request_stop(worker); /* the second request stops it at once */
}

int main(int argc, char **argv)
{
    pawl_store_options store_options = PAWL_STORE_OPTIONS_INIT;
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT; /* with a scheduler */
    struct sigaction stop = {.sa_handler = on_signal};
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store = NULL;
    char own_name[32];
    char *name = argc > 2 ? argv[2] : own_name;

    if (argc < 2 || argc > 4) {
        fprintf(stderr, "usage: job URL [NAME [RUNS]]\n");
        return 64;
    }
    snprintf(own_name, sizeof own_name, "worker-%ld", (long)getpid());
    store_options.deploy_schema = true; /* create pawl's tables if they do not exist */
    expect(pawl_store_open(argv[1], &store_options, &store, &err), &err);

    options.owner_name = name;
    options.concurrency = 1;
    options.max_messages = argc > 3 ? strtoll(argv[3], NULL, 10) : 0;
    expect(pawl_worker_new(store, &options, &worker, &err), &err);
    expect(pawl_worker_handle(worker, TOPIC, handle, name, NULL, &err), &err);
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    report(name, "waits for runs");
    expect(pawl_worker_run(worker, &err), &err);
    report(name, "stopped");

    pawl_worker_free(worker);
    pawl_store_close(store);
    return 0;
}

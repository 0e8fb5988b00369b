/* bench/shift.c - a pawl worker at work in this process, with a handler that does nothing. */
#include "shift.h"

#include <time.h>

#include "basics.h"

#define CONNECTIONS 10

static void shift_expect(pawl_status status, const pawl_error *err)
{
    if (status != PAWL_OK)
        die("pawl: %s: %s", pawl_status_name(status), err->message);
}

pawl_store *shift_open(const database *db)
{
    pawl_store_options options = database_options(db, CONNECTIONS);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store = NULL;

    shift_expect(pawl_store_open(db->url, &options, &store, &err), &err);
    return store;
}

static pawl_result do_nothing(pawl_task *task, void *context)
{
    shift *self = context;
    long long before = atomic_fetch_add(&self->handled, 1);

    (void)task;
    if (before == 0)
        self->first = seconds_now();
    if (before + 1 == self->expected)
        sem_post(&self->all_handled);
    return PAWL_DONE;
}

static void *shift_run(void *context)
{
    shift *self = context;
    pawl_error err = PAWL_ERROR_INIT;

    shift_expect(pawl_worker_run(self->worker, &err), &err);
    return NULL;
}

void shift_begin(shift *self, pawl_store *store, int batch, int64_t expected)
{
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;

    *self = (shift){.expected = expected};
    sem_init(&self->all_handled, 0, 0);
    options.batch = batch;
    shift_expect(pawl_worker_new(store, &options, &self->worker, &err), &err);
    shift_expect(pawl_worker_handle(self->worker, NULL, do_nothing, self, NULL, &err), &err);
    if (pthread_create(&self->thread, NULL, shift_run, self) != 0)
        die("no thread for the worker");
}

double shift_await(shift *self)
{
    static const struct timespec moment = {.tv_nsec = 20000};
    pawl_worker_stats stats = PAWL_WORKER_STATS_INIT;

    while (sem_wait(&self->all_handled) != 0)
        ;
    /* The last of them are on their way to the database. */
    while (pawl_worker_get_stats(self->worker, &stats), stats.done < self->expected)
        nanosleep(&moment, NULL);
    return seconds_now() - self->first;
}

void shift_end(shift *self)
{
    pawl_worker_request_stop(self->worker);
    pthread_join(self->thread, NULL);
    pawl_worker_free(self->worker);
    sem_destroy(&self->all_handled);
}

/* src/core/job.c - creates, updates, triggers and deletes jobs. */
#include <pawl/job.h>

#include <string.h>

#include "batch_update.h"
#include "codes.h"
#include "fail.h"
#include "job_private.h"
#include "log.h"
#include "options.h"
#include "message_spec.h"
#include "store_private.h"

void pawli_jobs_changed(pawl_store *store)
{
    pawli_wake_signal(&store->job_wake);
}

pawl_status pawli_job_missing(const char *name, pawl_error *err)
{
    return pawli_fail(err, PAWL_E_NOT_FOUND, "no such job: '%.400s'", name);
}

/* ---- put ---- */

static pawli_value job_span_or_null(int64_t ms)
{
    return ms > 0 ? pawli_span_ms(ms) : pawli_null(PAWLI_SPAN);
}

static pawli_value int_or_null(int64_t number)
{
    return number > 0 ? pawli_int(number) : pawli_null(PAWLI_INT);
}

static pawl_status store_definition(pawl_store *store, const pawl_job_definition *job,
                                    size_t *ret_created, pawl_error *err)
{
    bool own_backoff = job->backoff.base_ms > 0;
    pawli_param params[] = {
        {"name", pawli_text(job->name)},
        {"schedule", pawli_text(job->schedule)},
        {"zone", pawli_text(job->zone)},
        {"topic", pawli_text(job->topic)},
        {"payload", pawli_bytes(job->payload, job->payload_size)},
        {"type", pawli_int(job->type)},
        {"type_name", pawli_text(pawl_type_name(job->type))},
        {"destination", pawli_text(job->destination)},
        {"headers", pawli_text(job->headers)},
        {"correlation_id", pawli_text(job->correlation_id)},
        {"priority", pawli_int(job->priority)},
        {"max_attempts", int_or_null(job->max_attempts)},
        {"retry_base", job_span_or_null(job->backoff.base_ms)},
        {"retry_max", job_span_or_null(job->backoff.max_ms)},
        {"retry_jitter", own_backoff ? pawli_jitter(&job->backoff) : pawli_null(PAWLI_SPAN)},
        {"misfire", pawli_text(pawl_misfire_name(job->misfire))},
        {"misfire_cap", pawli_int(job->misfire_cap)},
        {"misfire_grace", pawli_span_ms(job->misfire_grace_ms)},
        {"overlap", pawli_text(pawl_overlap_name(job->overlap))},
        {"jitter", pawli_span_ms(job->jitter_ms)},
        {"ttl", job_span_or_null(job->ttl_ms)},
        {"timeout", job_span_or_null(job->timeout_ms)},
        {"lease", pawli_span_ms(job->lease_ms)},
        {"heartbeat", pawli_span_ms(job->heartbeat_ms)},
        {"keep_runs", pawli_int(job->keep_runs)},
        {"keep_age", job_span_or_null(job->keep_ms)},
        {"enabled", pawli_bool(!job->disabled)},
    };

    return pawli_batch_update_found(store, PAWLI_SQL_JOB_PUT, params, PAWLI_COUNT(params),
                                    ret_created, err);
}

pawl_status pawl_job_put(pawl_store *store, const pawl_job_definition *definition,
                         bool *ret_created, pawl_error *err)
{
    pawl_job_definition job;
    size_t created = 0;
    pawl_status st;

    if (!store)
        return pawli_fail(err, PAWL_E_INVALID, "the store must not be NULL");
    st = pawli_job_definition_read(definition, pawli_db_driver(store->db)->max_payload_bytes, &job,
                                   err);
    if (st == PAWL_OK)
        st = pawli_job_check_name(store, job.name, err);
    if (st == PAWL_OK)
        st = store_definition(store, &job, &created, err);
    if (st != PAWL_OK)
        return st;
    if (ret_created)
        *ret_created = created > 0;
    pawli_log(&store->log, PAWL_LOG_INFO, "job",
              created > 0 ? "job '{job}' was created: {schedule} in {zone}"
                          : "job '{job}' was changed: {schedule} in {zone}",
              pawli_logged("job", job.name), pawli_logged("schedule", job.schedule),
              pawli_logged("zone", job.zone));
    pawli_jobs_changed(store);
    return PAWL_OK;
}

/* ---- enable, disable ---- */

typedef struct switching {
    bool found;
    bool changed;
} switching;

static void on_switch_start(void *context)
{
    *(switching *)context = (switching){false, false};
}

static pawl_status on_switch_row(void *context, const pawli_row *row, pawl_error *err)
{
    (void)err;
    *(switching *)context = (switching){pawli_row_int(row, 0) != 0, pawli_row_int(row, 1) != 0};
    return PAWL_OK;
}

static pawl_status set_enabled(pawl_store *store, const char *name, bool enabled, bool *ret_changed,
                               pawl_error *err)
{
    switching result = {false, false};
    pawli_param params[] = {{"name", pawli_text(name)}, {"enabled", pawli_bool(enabled)}};
    pawli_op op = {
        .sql = PAWLI_SQL_JOB_SWITCH,
        .writes = true,
        .params = params,
        .param_count = PAWLI_COUNT(params),
        .on_row = on_switch_row,
        .on_start = on_switch_start,
        .context = &result,
    };
    pawl_status st = pawli_job_check_name(store, name, err);

    if (st == PAWL_OK)
        st = pawli_store_write(store, &op, err);
    if (st != PAWL_OK)
        return st;
    if (!result.found)
        return pawli_job_missing(name, err);
    if (ret_changed)
        *ret_changed = result.changed;
    if (result.changed)
        pawli_log(&store->log, PAWL_LOG_INFO, "job",
                  enabled ? "job '{job}' was enabled" : "job '{job}' was disabled",
                  pawli_logged("job", name));
    pawli_jobs_changed(store);
    return PAWL_OK;
}

pawl_status pawl_job_enable(pawl_store *store, const char *name, bool *ret_changed, pawl_error *err)
{
    return set_enabled(store, name, true, ret_changed, err);
}

pawl_status pawl_job_disable(pawl_store *store, const char *name, bool *ret_changed,
                             pawl_error *err)
{
    return set_enabled(store, name, false, ret_changed, err);
}

/* ---- trigger ---- */

/* The result of job_trigger; the last row counts. */
typedef struct firing {
    bool found;
    int how;
    int64_t run_id;
    pawl_run_state state;
} firing;

static void on_fire_start(void *context)
{
    *(firing *)context = (firing){.found = false};
}

static pawl_status on_fire_row(void *context, const pawli_row *row, pawl_error *err)
{
    (void)err;
    *(firing *)context = (firing){
        .found = true,
        .how = (int)pawli_row_int(row, 0),
        .run_id = pawli_row_int(row, 1),
        .state = (pawl_run_state)pawli_row_int(row, 2),
    };
    return PAWL_OK;
}

static pawl_status job_fire(pawl_store *store, const char *name, bool force, pawl_uuid id,
                            firing *result, pawl_error *err)
{
    pawli_param params[] = {
        {"name", pawli_text(name)},
        {"force", pawli_bool(force)},
        {"message_id", pawli_uuid(id.bytes)},
    };
    pawli_op op = {
        .sql = PAWLI_SQL_JOB_TRIGGER,
        .writes = true,
        .params = params,
        .param_count = PAWLI_COUNT(params),
        .on_row = on_fire_row,
        .on_start = on_fire_start,
        .context = result,
    };
    pawl_status st = pawli_store_write(store, &op, err);

    if (st != PAWL_OK)
        return st;
    if (!result->found)
        return pawli_job_missing(name, err);
    if (result->how == PAWLI_JOB_TRIGGER_BUSY)
        return pawli_fail(
            err, PAWL_E_BUSY,
            "run %lld of job '%.300s' is %s: wait for it to end, cancel it, or force the trigger",
            (long long)result->run_id, name, pawl_run_state_name(result->state));
    return PAWL_OK;
}

pawl_status pawl_job_trigger(pawl_store *store, const char *name,
                             const pawl_job_trigger_options *opts,
                             pawl_job_triggered *ret_triggered, pawl_error *err)
{
    pawl_job_trigger_options options = PAWL_JOB_TRIGGER_OPTIONS_INIT;
    pawl_uuid id = pawl_uuid_new();
    firing result = {.found = false};
    pawl_status st = pawli_job_check_name(store, name, err);

    if (st == PAWL_OK)
        st = pawli_options_copy(&options, sizeof options, opts, err);
    if (st == PAWL_OK)
        st = pawli_returned_check(ret_triggered, err);
    if (st == PAWL_OK)
        st = job_fire(store, name, options.force, id, &result, err);
    if (st != PAWL_OK)
        return st;
    pawl_job_triggered triggered = {.run_id = result.run_id};
    triggered.waiting = result.how == PAWLI_JOB_TRIGGER_WAITS;
    if (result.how == PAWLI_JOB_TRIGGER_STARTED)
        triggered.message_id = id;
    pawli_returned_copy(ret_triggered, &triggered, sizeof triggered);
    pawli_log(&store->log, PAWL_LOG_INFO, "job", "job '{job}' was triggered: run {run_id}",
              pawli_logged("job", name), pawli_logged_number("run_id", result.run_id));
    pawli_wake_signal(pawli_db_wake(store->db));
    pawli_jobs_changed(store);
    return PAWL_OK;
}

/* ---- delete ---- */

typedef struct removing {
    size_t cancelled;
    bool found;
} removing;

static void on_delete_start(void *context)
{
    *(removing *)context = (removing){0, false};
}

static pawl_status on_delete_row(void *context, const pawli_row *row, pawl_error *err)
{
    removing *result = context;

    (void)err;
    if (pawli_row_int(row, 0) == 0)
        result->cancelled += (size_t)pawli_row_int(row, 1);
    else
        result->found = pawli_row_int(row, 1) > 0;
    return PAWL_OK;
}

pawl_status pawl_job_delete(pawl_store *store, const char *name, size_t *ret_cancelled,
                            pawl_error *err)
{
    removing result = {0, false};
    pawli_param params[] = {{"name", pawli_text(name)}};
    pawli_op op = {
        .sql = PAWLI_SQL_JOB_DELETE,
        .writes = true,
        .params = params,
        .param_count = PAWLI_COUNT(params),
        .on_row = on_delete_row,
        .on_start = on_delete_start,
        .context = &result,
    };
    pawl_status st = pawli_job_check_name(store, name, err);

    if (st == PAWL_OK)
        st = pawli_store_write(store, &op, err);
    if (st != PAWL_OK)
        return st;
    if (!result.found)
        return pawli_job_missing(name, err);
    if (ret_cancelled)
        *ret_cancelled = result.cancelled;
    pawli_log(&store->log, PAWL_LOG_INFO, "job",
              "job '{job}' was deleted; {cancelled} runs were cancelled", pawli_logged("job", name),
              pawli_logged_number("cancelled", (int64_t)result.cancelled));
    pawli_jobs_changed(store);
    return PAWL_OK;
}

/* src/core/job_list.c - lists jobs. */
#include <pawl/job.h>

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "columns.h"
#include "fail.h"
#include "job_plan.h"
#include "job_private.h"
#include "options.h"
#include "page.h"
#include "store_private.h"
#include "text.h"

#define LIMIT_DEFAULT 100
#define LIMIT_MAX 10000

/* The view's, and the clock. */
#define X(upper, name) upper,
enum { PAWLI_JOB_COLUMNS(X) AT, COLUMN_COUNT };
#undef X
static const char *const job_column_names[COLUMN_COUNT] = {
    PAWLI_JOB_COLUMNS(PAWLI_COLUMN_NAME) "at"};
static const pawli_columns job_columns = {job_column_names, COLUMN_COUNT};

struct pawl_jobs {
    pawl_job *items;
    size_t count;
    size_t capacity;
    pawl_wall now;
    pawli_arena memory;
};

size_t pawl_jobs_count(const pawl_jobs *jobs)
{
    return jobs ? jobs->count : 0;
}

const pawl_job *pawl_jobs_at(const pawl_jobs *jobs, size_t index)
{
    return jobs && index < jobs->count ? &jobs->items[index] : NULL;
}

pawl_wall pawl_jobs_now(const pawl_jobs *jobs)
{
    return jobs ? jobs->now : PAWL_TIME_UNSET;
}

void pawl_jobs_free(pawl_jobs *jobs)
{
    if (!jobs)
        return;
    pawli_arena_done(&jobs->memory);
    free(jobs->items);
    free(jobs);
}

static void job_list_on_start(void *context)
{
    pawl_jobs *jobs = context;

    pawli_arena_done(&jobs->memory);
    jobs->count = 0;
}

static const char *job_list_copy(pawl_jobs *jobs, const pawli_row *row, int column,
                                 size_t *ret_size, bool *failed)
{
    size_t size;
    const void *bytes = pawli_row_bytes(row, column, &size);
    const char *copied = bytes ? pawli_arena_copy(&jobs->memory, bytes, size) : NULL;

    if (ret_size)
        *ret_size = size;
    *failed = *failed || (bytes && !copied);
    return copied;
}

static int64_t row_ms(const pawli_row *row, int column)
{
    return pawli_row_int(row, column) / 1000;
}

static bool job_list_read_texts(pawl_jobs *jobs, const pawli_row *row,
                                pawl_job_definition *definition)
{
    bool failed = false;

    definition->name = job_list_copy(jobs, row, NAME, NULL, &failed);
    definition->schedule = job_list_copy(jobs, row, SCHEDULE, NULL, &failed);
    definition->zone = job_list_copy(jobs, row, ZONE, NULL, &failed);
    definition->topic = job_list_copy(jobs, row, TOPIC, NULL, &failed);
    definition->payload = job_list_copy(jobs, row, PAYLOAD, &definition->payload_size, &failed);
    definition->destination = job_list_copy(jobs, row, DESTINATION, NULL, &failed);
    definition->headers = job_list_copy(jobs, row, HEADERS, NULL, &failed);
    definition->correlation_id = job_list_copy(jobs, row, CORRELATION_ID, NULL, &failed);
    return !failed;
}

static void job_list_read_numbers(const pawli_row *row, pawl_job_definition *definition)
{
    definition->type = (pawl_type)pawli_row_int(row, TYPE);
    definition->priority = (int)pawli_row_int(row, PRIORITY);
    definition->max_attempts = (int)pawli_row_int(row, MAX_ATTEMPTS);
    definition->backoff.base_ms = row_ms(row, RETRY_BASE);
    definition->backoff.max_ms = row_ms(row, RETRY_MAX);
    definition->backoff.jitter_ms = row_ms(row, RETRY_JITTER);
    if (definition->backoff.base_ms > 0 && pawli_row_is_null(row, RETRY_JITTER))
        definition->backoff.jitter_ms = PAWL_JITTER_TENTH;
    definition->misfire = pawli_misfire_of(row, MISFIRE);
    definition->misfire_cap = (int)pawli_row_int(row, MISFIRE_CAP);
    definition->misfire_grace_ms = row_ms(row, MISFIRE_GRACE);
    definition->overlap = pawli_overlap_of(row, OVERLAP);
    definition->jitter_ms = row_ms(row, JITTER);
    definition->ttl_ms = row_ms(row, TTL);
    definition->timeout_ms = row_ms(row, TIMEOUT);
    definition->lease_ms = row_ms(row, LEASE);
    definition->heartbeat_ms = row_ms(row, HEARTBEAT);
    definition->keep_runs = (int)pawli_row_int(row, KEEP_RUNS);
    definition->keep_ms = row_ms(row, KEEP_AGE);
    definition->disabled = pawli_row_int(row, ENABLED) == 0;
}

/*
 * Computes the next occurrence as the scheduler would, since the scheduler may not have seen the
 * job yet. The same applies to the problem of a row that was edited manually.
 */
static bool read_next(pawl_jobs *jobs, const pawli_row *row, pawl_job *job)
{
    pawl_error why = PAWL_ERROR_INIT;
    pawli_job_facts facts = {
        .id = job->id,
        .schedule = job->definition->schedule,
        .zone = job->definition->zone,
        .enabled = job->enabled,
        .jitter_us = pawli_row_int(row, JITTER),
        .anchor = pawli_row_time(row, ANCHOR),
        .since = pawli_row_time(row, SINCE),
        .next_occurrence_at = pawli_row_time(row, NEXT_OCCURRENCE_AT),
        .last_occurrence_at = job->last_occurrence_at,
        .awaits = !pawli_row_is_null(row, AWAITED_RUN),
    };
    pawl_status st =
        pawli_job_next(&facts, jobs->now, &job->next_occurrence_at, &job->next_due_at, &why);

    if (st != PAWL_OK && st != PAWL_E_NOMEM && !job->problem)
        job->problem = pawli_arena_copy(&jobs->memory, why.message, strlen(why.message));
    return st == PAWL_OK || job->problem;
}

static bool read_job(pawl_jobs *jobs, const pawli_row *row, pawl_job *job)
{
    pawl_job_definition *definition = pawli_arena_alloc(&jobs->memory, sizeof *definition);
    bool failed = false;

    if (!definition)
        return false;
    *definition = (pawl_job_definition)PAWL_JOB_DEFINITION_INIT;
    if (!job_list_read_texts(jobs, row, definition))
        return false;
    job_list_read_numbers(row, definition);
    *job = (pawl_job){
        .id = pawli_row_int(row, ID),
        .name = definition->name,
        .definition = definition,
        .enabled = !definition->disabled,
        .created_at = pawli_row_time(row, CREATED_AT),
        .updated_at = pawli_row_time(row, UPDATED_AT),
        .last_occurrence_at = pawli_row_time(row, LAST_OCCURRENCE_AT),
        .unfinished = (int)pawli_row_int(row, UNFINISHED),
        .last_run_at = pawli_row_time(row, LAST_RUN_AT),
        .last_run_state = (pawl_run_state)pawli_row_int(row, LAST_RUN_STATE),
        .problem = job_list_copy(jobs, row, PROBLEM, NULL, &failed),
    };
    jobs->now = pawli_row_time(row, AT);
    return !failed && read_next(jobs, row, job);
}

static pawl_status jobs_no_memory(pawl_error *err)
{
    return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the jobs");
}

static pawl_status job_list_on_row(void *context, const pawli_row *row, pawl_error *err)
{
    pawl_jobs *jobs = context;

    if (jobs->count == jobs->capacity) {
        size_t capacity = jobs->capacity ? jobs->capacity * 2 : 16;
        pawl_job *items = realloc(jobs->items, capacity * sizeof *items);
        if (!items)
            return jobs_no_memory(err);
        jobs->items = items;
        jobs->capacity = capacity;
    }
    if (!read_job(jobs, row, &jobs->items[jobs->count]))
        return jobs_no_memory(err);
    jobs->count++;
    return PAWL_OK;
}

static pawl_status read_jobs(pawl_store *store, enum pawli_sql sql, const pawli_param *params,
                             size_t param_count, pawl_jobs **ret_jobs, pawl_error *err)
{
    PAWLI_AUTO(pawl_jobs) jobs = calloc(1, sizeof *jobs);

    if (!jobs)
        return jobs_no_memory(err);
    pawli_op op = {
        .sql = sql,
        .params = params,
        .param_count = param_count,
        .columns = &job_columns,
        .on_row = job_list_on_row,
        .on_start = job_list_on_start,
        .context = jobs,
    };
    pawl_status st = pawli_db_run(store->db, &op, err);
    if (st == PAWL_OK)
        *ret_jobs = pawl_jobs_take(&jobs);
    return st;
}

pawl_status pawl_job_get(pawl_store *store, const char *name, pawl_jobs **ret_one, pawl_error *err)
{
    PAWLI_AUTO(pawl_jobs) one = NULL;
    pawli_param params[] = {{"name", pawli_text(name)}};
    pawl_status st = pawli_job_check_name(store, name, err);

    if (st != PAWL_OK)
        return st;
    if (!ret_one)
        return pawli_fail(err, PAWL_E_INVALID, "ret_one must not be NULL");
    st = read_jobs(store, PAWLI_SQL_JOB_GET, params, PAWLI_COUNT(params), &one, err);
    if (st != PAWL_OK)
        return st;
    if (pawl_jobs_count(one) == 0)
        return pawli_job_missing(name, err);
    *ret_one = pawl_jobs_take(&one);
    return PAWL_OK;
}

pawl_status pawl_job_list(pawl_store *store, const pawl_job_filter *filter, pawl_jobs **ret_list,
                          pawl_page *ret_next, pawl_error *err)
{
    PAWLI_AUTO(pawl_jobs) list = NULL;
    pawl_job_filter wanted = PAWL_JOB_FILTER_INIT;
    pawl_status st;

    if (!store || !ret_list)
        return pawli_fail(err, PAWL_E_INVALID, "store and ret_list must not be NULL");
    st = pawli_options_copy(&wanted, sizeof wanted, filter, err);
    if (st != PAWL_OK)
        return st;
    if (wanted.limit < 0 || wanted.limit > LIMIT_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "the limit must be 0 to %d", LIMIT_MAX);
    st = pawli_page_check_name(&wanted.after, err);
    if (st != PAWL_OK)
        return st;
    if (wanted.limit == 0)
        wanted.limit = LIMIT_DEFAULT;
    pawli_param params[] = {
        {"after", pawli_text(wanted.after.text)},
        {"limit", pawli_int(wanted.limit)},
    };
    st = read_jobs(store, PAWLI_SQL_JOB_LIST, params, PAWLI_COUNT(params), &list, err);
    if (st != PAWL_OK)
        return st;
    size_t count = pawl_jobs_count(list);
    pawli_page_write_name(
        count == (size_t)wanted.limit ? pawl_jobs_at(list, count - 1)->name : NULL, ret_next);
    *ret_list = pawl_jobs_take(&list);
    return PAWL_OK;
}

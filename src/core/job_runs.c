/* src/core/job_runs.c - the run history of a job. */
#include <pawl/job_runs.h>

#include <stdint.h>
#include <stdlib.h>

#include "arena.h"
#include "batch_update.h"
#include "columns.h"
#include "fail.h"
#include "job_private.h"
#include "options.h"
#include "page.h"
#include "store_private.h"

#define LIMIT_DEFAULT 100
#define LIMIT_MAX 10000
#define ROWS_LOOKED_AT 10000
#define JOBS_PER_CLEAN 100
#define RUNS_PER_JOB 10 /* must match the SQL statement */
#define ANY ((1u << PAWL_RUN_STATE_COUNT) - 1)

#define X(upper, name) upper,
enum { PAWLI_RUN_COLUMNS(X) PAWLI_EXTRA_COLUMNS(X) COLUMN_COUNT };
#undef X
static const char *const run_column_names[COLUMN_COUNT] = {
    PAWLI_RUN_COLUMNS(PAWLI_COLUMN_NAME) PAWLI_EXTRA_COLUMNS(PAWLI_COLUMN_NAME)};
static const pawli_columns run_columns = {run_column_names, COLUMN_COUNT};

struct pawl_runs {
    pawl_run *items;
    size_t count;
    size_t capacity;
    pawli_arena texts;
    /* Paging: */
    size_t limit;
    int64_t next; /* 0: there are no older runs */
};

const char *pawl_run_state_name(pawl_run_state state)
{
    static const char *const names[] = {"ready",   "running",   "done",    "failed",
                                        "expired", "cancelled", "waiting", "skipped"};

    return (unsigned)state < PAWLI_COUNT(names) ? names[state] : "unknown";
}

const char *pawl_run_reason_name(pawl_run_reason reason)
{
    static const char *const names[] = {"none", "overlap", "misfire"};

    return (unsigned)reason < PAWLI_COUNT(names) ? names[reason] : "unknown";
}

/* ---- the list ---- */

size_t pawl_runs_count(const pawl_runs *runs)
{
    return runs ? runs->count : 0;
}

const pawl_run *pawl_runs_at(const pawl_runs *runs, size_t index)
{
    return runs && index < runs->count ? &runs->items[index] : NULL;
}

void pawl_runs_free(pawl_runs *runs)
{
    if (!runs)
        return;
    pawli_arena_done(&runs->texts);
    free(runs->items);
    free(runs);
}

static void runs_on_start(void *context)
{
    pawl_runs *runs = context;

    pawli_arena_done(&runs->texts);
    runs->count = 0;
    runs->next = 0;
}

static const void *runs_copy(pawl_runs *runs, const pawli_row *row, int column, size_t *ret_size,
                             bool *failed)
{
    size_t size;
    const void *bytes = pawli_row_bytes(row, column, &size);
    const void *copied = bytes ? pawli_arena_copy(&runs->texts, bytes, size) : NULL;

    if (ret_size)
        *ret_size = size;
    *failed = *failed || (bytes && !copied);
    return copied;
}

static bool read_run(pawl_runs *runs, const pawli_row *row, pawl_run *run)
{
    bool failed = false;

    *run = (pawl_run){
        .id = pawli_row_int(row, ID),
        .job = runs_copy(runs, row, JOB, NULL, &failed),
        .triggered = pawli_row_int(row, TRIGGERED) != 0,
        .state = (pawl_run_state)pawli_row_int(row, STATE),
        .reason = (pawl_run_reason)pawli_row_int(row, REASON),
        .scheduled_at = pawli_row_time(row, SCHEDULED_AT),
        .last_occurrence_at = pawli_row_time(row, LAST_OCCURRENCE_AT),
        .occurrences = pawli_row_int(row, OCCURRENCES),
        .occurrences_is_at_least = pawli_row_int(row, OCCURRENCES_MORE) != 0,
        .work_id = {pawli_row_int(row, WORK_ID)},
        .created_at = pawli_row_time(row, CREATED_AT),
        .started_at = pawli_row_time(row, STARTED_AT),
        .claimed_at = pawli_row_time(row, CLAIMED_AT),
        .ended_at = pawli_row_time(row, ENDED_AT),
        .claimed_by = runs_copy(runs, row, CLAIMED_BY, NULL, &failed),
        .attempts = (int)pawli_row_int(row, ATTEMPTS),
        .error = runs_copy(runs, row, ERROR, NULL, &failed),
    };
    run->output = runs_copy(runs, row, OUTPUT, &run->output_size, &failed);
    pawli_row_uuid(row, MESSAGE_ID, run->message_id.bytes);
    return !failed;
}

static pawl_status runs_no_memory(pawl_error *err)
{
    return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the runs");
}

static pawl_status runs_add(void *context, const pawli_row *row, pawl_error *err)
{
    pawl_runs *runs = context;

    if (runs->count == runs->capacity) {
        size_t capacity = runs->capacity ? runs->capacity * 2 : 16;
        pawl_run *items = realloc(runs->items, capacity * sizeof *items);
        if (!items)
            return runs_no_memory(err);
        runs->items = items;
        runs->capacity = capacity;
    }
    if (!read_run(runs, row, &runs->items[runs->count]))
        return runs_no_memory(err);
    runs->count++;
    return PAWL_OK;
}

static pawl_status runs_add_to_page(void *context, const pawli_row *row, pawl_error *err)
{
    pawl_runs *runs = context;
    bool matches = pawli_row_int(row, MATCHES) != 0;

    if (matches && runs->count == runs->limit) { /* one more row than requested: there is a next
                                                  * page */
        runs->next = runs->items[runs->count - 1].id;
        return PAWL_OK;
    }
    if (runs->next == 0 || runs->count < runs->limit)
        runs->next = pawli_row_int(row, BOUNDED) ? pawli_row_int(row, ID) : 0;
    return matches ? runs_add(runs, row, err) : PAWL_OK;
}

/* ---- reading ---- */

pawl_status pawl_run_get(pawl_store *store, int64_t run_id, pawl_runs **ret_one, pawl_error *err)
{
    PAWLI_AUTO(pawl_runs) one = NULL;
    pawli_param params[] = {{"id", pawli_int(run_id)}};

    if (!store || !ret_one)
        return pawli_fail(err, PAWL_E_INVALID, "store and ret_one must not be NULL");
    one = calloc(1, sizeof *one);
    if (!one)
        return runs_no_memory(err);
    pawli_op op = {
        .sql = PAWLI_SQL_JOB_RUN,
        .params = params,
        .param_count = PAWLI_COUNT(params),
        .columns = &run_columns,
        .on_row = runs_add,
        .on_start = runs_on_start,
        .context = one,
    };
    pawl_status st = pawli_db_run(store->db, &op, err);
    if (st != PAWL_OK)
        return st;
    if (one->count == 0)
        return pawli_fail(err, PAWL_E_NOT_FOUND, "no such run: %lld; it may have been pruned",
                          (long long)run_id);
    *ret_one = pawl_runs_take(&one);
    return PAWL_OK;
}

static pawl_status read_page(pawl_store *store, const char *job, const pawl_run_filter *filter,
                             pawl_runs *page, pawl_error *err)
{
    int64_t before;
    pawl_status st = pawli_page_read_id(&filter->after, &before, err);
    if (st != PAWL_OK)
        return st;
    pawli_param params[] = {
        {"job", pawli_text(job)},
        {"states", pawli_int(filter->states ? filter->states : ANY)},
        {"before", pawli_int(before)},
        {"limit", pawli_int((int64_t)page->limit + 1)},
        {"scan", pawli_int(ROWS_LOOKED_AT)},
        {"with_output", pawli_bool(filter->with_output)},
    };
    pawli_op op = {
        .sql = PAWLI_SQL_JOB_RUNS,
        .params = params,
        .param_count = PAWLI_COUNT(params),
        .columns = &run_columns,
        .on_row = runs_add_to_page,
        .on_start = runs_on_start,
        .context = page,
    };

    return pawli_db_run(store->db, &op, err);
}

static pawl_status runs_check_filter(const pawl_store *store, const char *job,
                                     const pawl_run_filter *filter, pawl_error *err)
{
    if (filter->limit < 0 || filter->limit > LIMIT_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "the limit must be 0 to %d", LIMIT_MAX);
    if (filter->states & ~ANY)
        return pawli_fail(err, PAWL_E_INVALID,
                          "states must be a combination of 1u << PAWL_RUN_...");
    return job ? pawli_job_check_name(store, job, err) : PAWL_OK;
}

/* An empty page may mean that the job does not exist. */
static pawl_status check_job(pawl_store *store, const char *job, pawl_error *err)
{
    PAWLI_AUTO(pawl_jobs) one = NULL;

    return job ? pawl_job_get(store, job, &one, err) : PAWL_OK;
}

pawl_status pawl_run_list(pawl_store *store, const char *job, const pawl_run_filter *filter,
                          pawl_runs **ret_list, pawl_page *ret_next, pawl_error *err)
{
    PAWLI_AUTO(pawl_runs) page = NULL;
    pawl_run_filter wanted = PAWL_RUN_FILTER_INIT;
    pawl_status st;

    if (!store || !ret_list)
        return pawli_fail(err, PAWL_E_INVALID, "store and ret_list must not be NULL");
    st = pawli_options_copy(&wanted, sizeof wanted, filter, err);
    if (st == PAWL_OK)
        st = runs_check_filter(store, job, &wanted, err);
    if (st != PAWL_OK)
        return st;
    page = calloc(1, sizeof *page);
    if (!page)
        return runs_no_memory(err);
    page->limit = (size_t)(wanted.limit ? wanted.limit : LIMIT_DEFAULT);
    st = read_page(store, job, &wanted, page, err);
    if (st == PAWL_OK && page->count == 0)
        st = check_job(store, job, err);
    if (st != PAWL_OK)
        return st;
    pawli_page_write_id(page->next, ret_next);
    *ret_list = pawl_runs_take(&page);
    return PAWL_OK;
}

pawl_status pawl_job_clean(pawl_store *store, size_t *ret_removed, pawl_scan *ret_scan,
                           pawl_error *err)
{
    pawli_param params[] = {{"limit", pawli_int(JOBS_PER_CLEAN)}};
    pawli_scanned scanned = {0, 0};
    pawli_op op = {
        .sql = PAWLI_SQL_JOB_CLEAN,
        .writes = true,
        .params = params,
        .param_count = PAWLI_COUNT(params),
        .on_row = pawli_scanned_on_row,
        .on_start = pawli_scanned_on_start,
        .context = &scanned,
    };

    if (!store)
        return pawli_fail(err, PAWL_E_INVALID, "the store must not be NULL");
    pawl_status st = pawli_store_write(store, &op, err);
    if (st != PAWL_OK)
        return st;
    if (ret_removed)
        *ret_removed = scanned.changed;
    if (ret_scan) /* it stops after this many jobs, or after RUNS_PER_JOB runs of each of them */
        *ret_scan =
            (pawl_scan){scanned.rows, scanned.rows >= JOBS_PER_CLEAN ||
                                          scanned.changed >= (size_t)JOBS_PER_CLEAN * RUNS_PER_JOB};
    return PAWL_OK;
}

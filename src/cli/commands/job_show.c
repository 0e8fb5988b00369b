/* src/cli/commands/job_show.c - pawl job ls, show and runs. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd_job.h"
#include "console.h"
#include "fail.h"
#include "message_view.h"
#include "scope.h"
#include "terminal_text.h"

#define JOBS_DEFAULT 100
#define JOBS_MAX 10000
/* Below this width a row has no room for the time zone. */
#define NARROW 120

static void add_job_row(cli_table *table, const pawl_job *job, pawl_wall now)
{
    size_t width = cli_width(stdout);
    bool narrow = width > 0 && width < NARROW;
    PAWLI_AUTO_FREE char *schedule =
        narrow ? cli_copy(job->definition->schedule) : cli_job_schedule_text(job);
    bool ran = job->last_run_at.us != PAWL_NEVER.us;
    bool due = job->next_due_at.us != PAWL_NEVER.us;
    char when[CLI_WHEN_SIZE];

    cli_table_cell(table, CLI_PLAIN, "%s", job->name);
    cli_table_cell(table, CLI_PLAIN, "%s", schedule);
    if (due)
        cli_table_cell(table, CLI_PLAIN, "%s", cli_table_time(job->next_due_at, now, when));
    else
        cli_table_cell(table, CLI_YELLOW, "%s", job->enabled ? "-" : "disabled");
    cli_table_cell(table, CLI_PLAIN, "%s", ran ? cli_table_time(job->last_run_at, now, when) : "-");
    cli_table_cell(table, ran ? cli_run_color(job->last_run_state) : CLI_PLAIN, "%s",
                   ran ? pawl_run_state_name(job->last_run_state) : "-");
    cli_table_cell(table, CLI_RED, "%s", job->problem ? job->problem : "");
}

static void print_jobs(const pawl_jobs *jobs)
{
    static const cli_column columns[] = {{"JOB", false},    {"SCHEDULE", false},
                                         {"NEXT", false},   {"LAST RUN", false},
                                         {"STATUS", false}, {"PROBLEM", false}};
    PAWLI_AUTO(cli_table) table = cli_table_new(columns, PAWLI_COUNT(columns));

    for (size_t i = 0; i < pawl_jobs_count(jobs); i++)
        add_job_row(table, pawl_jobs_at(jobs, i), pawl_jobs_now(jobs));
    cli_table_print(table, stdout);
}

pawl_status cli_job_ls(const cli_args *args, pawl_store *store, pawl_error *err)
{
    const cli_job_settings *own = args->settings;
    PAWLI_AUTO(pawl_jobs) jobs = NULL;
    pawl_job_filter filter = PAWL_JOB_FILTER_INIT;
    pawl_status st;

    if (args->words.count > 0)
        return pawli_fail(err, PAWL_E_INVALID,
                          "job ls takes options only; 'pawl job show %s' shows one job",
                          args->words.items[0]);
    if (own->limit > JOBS_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "--limit must be at most %d; go on with --after",
                          JOBS_MAX);
    filter.limit = own->limit ? (int)own->limit : JOBS_DEFAULT;
    filter.after = own->after;
    st = pawl_job_list(store, &filter, &jobs, err);
    if (st != PAWL_OK)
        return st;
    size_t count = pawl_jobs_count(jobs);
    if (args->common.json) {
        json_t *array = json_array();
        for (size_t i = 0; i < count; i++)
            json_array_append_new(array, cli_job_json(pawl_jobs_at(jobs, i)));
        cli_json_print(stdout, array);
    } else if (count == 0) {
        fputs(own->after ? "There are no more jobs.\n" : "There are no jobs.\n", stderr);
    } else {
        print_jobs(jobs);
    }
    if (count == (size_t)filter.limit && !args->common.json)
        cli_note("there may be more; go on with --after '%s'", pawl_jobs_at(jobs, count - 1)->name);
    return PAWL_OK;
}

#define LAST_RUNS 5

static void print_job_json(const pawl_job *job, const pawl_runs *runs)
{
    json_t *object = cli_job_json(job);
    json_t *array = json_array();

    cli_json_bytes(object, "payload", job->definition->payload, job->definition->payload_size);
    for (size_t i = 0; i < pawl_runs_count(runs); i++)
        json_array_append_new(array, cli_run_json(pawl_runs_at(runs, i)));
    json_object_set_new(object, "runs", array);
    cli_json_print(stdout, object);
}

static void print_job_details(const pawl_job *job, const pawl_runs *runs, pawl_wall now)
{
    PAWLI_AUTO(cli_table) table = cli_run_table();

    cli_job_details(job, now);
    if (pawl_runs_count(runs) == 0)
        return;
    for (size_t i = 0; i < pawl_runs_count(runs); i++)
        cli_run_row(table, pawl_runs_at(runs, i), now);
    putchar('\n');
    cli_table_print(table, stdout);
}

pawl_status cli_job_show(const cli_args *args, pawl_store *store, pawl_error *err)
{
    const cli_job_settings *own = args->settings;
    PAWLI_AUTO(pawl_jobs) one = NULL;
    PAWLI_AUTO(pawl_runs) runs = NULL;
    pawl_run_filter filter = PAWL_RUN_FILTER_INIT;
    const char *name = NULL;
    pawl_status st = cli_job_name("show", args, &name, err);

    if (st == PAWL_OK && own->payload && args->common.json)
        st = pawli_fail(err, PAWL_E_INVALID,
                        "--payload writes raw bytes and --json a document; choose one");
    if (st == PAWL_OK)
        st = cli_job_explain(store, name, pawl_job_get(store, name, &one, err), err);
    if (st != PAWL_OK)
        return st;
    const pawl_job *job = pawl_jobs_at(one, 0);
    if (own->payload) {
        if (job->definition->payload)
            fwrite(job->definition->payload, 1, job->definition->payload_size, stdout);
        return PAWL_OK;
    }
    filter.limit = LAST_RUNS;
    st = cli_job_explain(store, name, pawl_job_runs(store, name, &filter, &runs, NULL, err), err);
    if (st != PAWL_OK)
        return st;
    if (args->common.json)
        print_job_json(job, runs);
    else
        print_job_details(job, runs, pawl_jobs_now(one));
    return PAWL_OK;
}

#define RUNS_DEFAULT 50
#define RUNS_PAGE 1000
#define RUNS_PAGE_WITH_OUTPUT 100 /* an output may have 64 kB */

/* ---- which states ---- */

static pawl_status read_run_state(const char *name, unsigned *states, pawl_error *err)
{
    cli_suggestion nearest = {name, NULL, 0};

    for (int i = 0; i < PAWL_RUN_STATE_COUNT; i++) {
        const char *state = pawl_run_state_name((pawl_run_state)i);
        if (strcmp(name, state) == 0) {
            *states |= 1u << i;
            return PAWL_OK;
        }
        cli_suggest(&nearest, state);
    }
    if (nearest.best)
        return pawli_fail(err, PAWL_E_INVALID, "there is no state '%s'; did you mean '%s'?", name,
                          nearest.best);
    return pawli_fail(
        err, PAWL_E_INVALID,
        "there is no state '%s'; the states are ready, running, done, failed, expired, "
        "cancelled, waiting and skipped",
        name);
}

static pawl_status read_run_states(const cli_texts *texts, unsigned *ret_states, pawl_error *err)
{
    pawl_status st = PAWL_OK;

    *ret_states = 0;
    for (size_t i = 0; i < texts->count; i++) {
        for (const char *at = texts->items[i]; st == PAWL_OK; at++) {
            size_t length = strcspn(at, ",");
            PAWLI_AUTO_FREE char *name = cli_copy_bytes(at, length);
            st = read_run_state(name, ret_states, err);
            at += length;
            if (*at == '\0')
                break;
        }
    }
    return st;
}

/* ---- gathering ---- */

typedef struct run_list {
    json_t *array;    /* with --json */
    cli_table *table; /* otherwise, without --output */
    pawl_wall now;
    int64_t count;
    int64_t last; /* the id of the last one */
    bool more;
} run_list;

static void gather_runs(run_list *to, const pawl_runs *page, int64_t wanted)
{
    for (size_t i = 0; i < pawl_runs_count(page); i++) {
        const pawl_run *run = pawl_runs_at(page, i);
        if (to->count == wanted) {
            to->more = true;
            return;
        }
        if (to->array) {
            json_array_append_new(to->array, cli_run_json(run));
        } else if (to->table) {
            cli_run_row(to->table, run, to->now);
        } else {
            fputs(to->count > 0 ? "\n" : "", stdout);
            cli_run_details(run, to->now);
        }
        to->last = run->id;
        to->count++;
    }
}

/* One more than wanted is looked for, to know whether there are more. */
static pawl_status gather_run_pages(pawl_store *store, const char *name, pawl_run_filter *filter,
                                    int64_t wanted, run_list *to, pawl_error *err)
{
    int64_t page_size = filter->with_output ? RUNS_PAGE_WITH_OUTPUT : RUNS_PAGE;

    for (;;) {
        PAWLI_AUTO(pawl_runs) page = NULL;
        int64_t left = wanted + 1 - to->count;

        filter->limit = (int)(left < page_size ? left : page_size);
        pawl_status st = pawl_job_runs(store, name, filter, &page, &filter->before, err);
        if (st != PAWL_OK)
            return cli_job_explain(store, name, st, err);
        gather_runs(to, page, wanted);
        if (filter->before == 0 || to->more)
            return PAWL_OK;
    }
}

static void print_run_list(const run_list *found)
{
    if (found->count == 0) {
        fputs("No runs match.\n", stderr);
        return;
    }
    if (found->table)
        cli_table_print(found->table, stdout);
    if (!found->more)
        return;
    fflush(stdout);
    fprintf(stderr, "%sMore: add --before %" PRId64 " or a larger --limit.%s\n",
            cli_style(stderr, CLI_DIM), found->last, cli_style(stderr, CLI_PLAIN));
}

pawl_status cli_job_runs(const cli_args *args, pawl_store *store, pawl_error *err)
{
    const cli_job_settings *own = args->settings;
    pawl_run_filter filter = PAWL_RUN_FILTER_INIT;
    PAWLI_AUTO(cli_table) table = own->output ? NULL : cli_run_table();
    run_list found = {.table = table};
    const char *name = NULL;
    pawl_status st = cli_job_name("runs", args, &name, err);

    if (st == PAWL_OK)
        st = read_run_states(&own->states, &filter.states, err);
    if (st == PAWL_OK)
        st = pawl_store_now(store, &found.now, err);
    if (st != PAWL_OK)
        return st;
    filter.before = own->before;
    filter.with_output = own->output || args->common.json;
    found.array = args->common.json ? json_array() : NULL;
    st =
        gather_run_pages(store, name, &filter, own->limit ? own->limit : RUNS_DEFAULT, &found, err);
    if (st != PAWL_OK)
        json_decref(found.array);
    else if (found.array)
        cli_json_print(stdout, found.array);
    else
        print_run_list(&found);
    return st;
}

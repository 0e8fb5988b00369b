/* src/cli/commands/job_show.c - pawl job ls, show and runs. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd_job.h"
#include "console.h"
#include "fail.h"
#include "scope.h"
#include "selection.h"
#include "terminal_text.h"

#define JOBS_DEFAULT 100
#define JOBS_MAX 10000
#define LAST_RUNS 5

/* ---- ls ---- */

pawl_status cli_job_ls(const cli_args *args, pawl_store *store, pawl_error *err)
{
    const cli_job_settings *own = args->settings;
    PAWLI_AUTO(pawl_jobs) jobs = NULL;
    CLI_AUTO_LISTING found = {0};
    pawl_job_filter filter = PAWL_JOB_FILTER_INIT;
    pawl_page next = PAWL_PAGE_INIT;
    pawl_status st;

    if (args->words.count > 0)
        return pawli_fail(err, PAWL_E_INVALID,
                          "job ls takes options only; 'pawl job show %s' shows one job",
                          args->words.items[0]);
    if (own->limit > JOBS_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "--limit must be at most %d; continue with --after",
                          JOBS_MAX);
    filter.limit = own->limit ? (int)own->limit : JOBS_DEFAULT;
    st = cli_page_after(own->after, &filter.after, err);
    if (st == PAWL_OK)
        st = pawl_job_list(store, &filter, &jobs, &next, err);
    if (st != PAWL_OK)
        return st;
    size_t count = pawl_jobs_count(jobs);
    cli_listing_begin(&found, &cli_job_noun, CLI_LISTING_FORM(args), filter.limit,
                      pawl_jobs_now(jobs));
    for (size_t i = 0; i < count; i++)
        cli_listing_add(&found, pawl_jobs_at(jobs, i), 0);
    cli_listing_print(&found, own->after ? "There are no more jobs." : "There are no jobs.");
    if (!PAWL_PAGE_IS_NONE(next) && !args->common.json)
        cli_note("there may be more; continue with --after '%s'", next.text);
    return PAWL_OK;
}

/* ---- show ---- */

static void print_job_json(const pawl_job *job, const pawl_runs *runs)
{
    json_t *object = cli_noun_json(&cli_job_noun, job);
    json_t *array = json_array();

    cli_json_bytes(object, "payload", job->definition->payload, job->definition->payload_size);
    for (size_t i = 0; i < pawl_runs_count(runs); i++)
        json_array_append_new(array, cli_noun_json(&cli_run_noun, pawl_runs_at(runs, i)));
    json_object_set_new(object, "runs", array);
    cli_json_print(stdout, object);
}

static void print_job_details(const pawl_job *job, const pawl_runs *runs, pawl_wall now)
{
    const pawl_job_definition *is = job->definition;
    PAWLI_AUTO(cli_table) table = cli_noun_table(&cli_run_noun);

    cli_noun_details(&cli_job_noun, job, now);
    cli_details_bytes("payload", "--payload", is->payload ? is->payload : "", is->payload_size);
    if (pawl_runs_count(runs) == 0)
        return;
    for (size_t i = 0; i < pawl_runs_count(runs); i++)
        cli_noun_row(&cli_run_noun, table, pawl_runs_at(runs, i), now);
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
    st = cli_job_explain(store, name, pawl_run_list(store, name, &filter, &runs, NULL, err), err);
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
        return pawli_fail(err, PAWL_E_INVALID, "unknown state '%s'; did you mean '%s'?", name,
                          nearest.best);
    return pawli_fail(err, PAWL_E_INVALID,
                      "unknown state '%s'; the states are ready, running, done, failed, expired, "
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

/* Reads one more than requested, to know whether there are more. */
static pawl_status gather_runs(pawl_store *store, const char *name, pawl_run_filter *filter,
                               cli_listing *to, pawl_error *err)
{
    int64_t page_size = filter->with_output ? RUNS_PAGE_WITH_OUTPUT : RUNS_PAGE;

    for (;;) {
        PAWLI_AUTO(pawl_runs) page = NULL;
        int64_t left = to->wanted + 1 - to->count;

        filter->limit = (int)(left < page_size ? left : page_size);
        pawl_status st = pawl_run_list(store, name, filter, &page, &filter->after, err);
        if (st != PAWL_OK)
            return cli_job_explain(store, name, st, err);
        for (size_t i = 0; i < pawl_runs_count(page); i++)
            if (!cli_listing_add(to, pawl_runs_at(page, i), pawl_runs_at(page, i)->id))
                break;
        if (PAWL_PAGE_IS_NONE(filter->after) || to->more)
            return PAWL_OK;
    }
}

pawl_status cli_job_runs(const cli_args *args, pawl_store *store, pawl_error *err)
{
    const cli_job_settings *own = args->settings;
    cli_listing_form form = CLI_LISTING_FORM(args);
    pawl_run_filter filter = PAWL_RUN_FILTER_INIT;
    CLI_AUTO_LISTING found = {0};
    pawl_wall now = PAWL_TIME_UNSET;
    const char *name = NULL;
    pawl_status st = cli_job_name("runs", args, &name, err);

    if (st == PAWL_OK)
        st = read_run_states(&own->states, &filter.states, err);
    if (st == PAWL_OK)
        st = pawl_store_now(store, &now, err);
    if (st != PAWL_OK)
        return st;
    filter.after = cli_page_before(own->before);
    filter.with_output = own->output || args->common.json;
    cli_listing_begin(&found, &cli_run_noun,
                      form == CLI_AS_TABLE && own->output ? CLI_AS_DETAILS : form,
                      own->limit ? own->limit : RUNS_DEFAULT, now);
    st = gather_runs(store, name, &filter, &found, err);
    if (st != PAWL_OK)
        return st;
    cli_listing_print(&found, "No runs match.");
    if (found.more)
        cli_listing_hint(&found, CLI_HINT_BEFORE, found.last_id);
    return PAWL_OK;
}

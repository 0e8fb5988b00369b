/* src/cli/job_runs.c - pawl job runs: the history of a job, newest first. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "job.h"
#include "suggest.h"

#define LIMIT_DEFAULT 50
#define PAGE 1000
#define PAGE_WITH_OUTPUT 100 /* an output may have 64 kB */

/* ---- which states ---- */

static pawl_status read_state(const char *name, unsigned *states, pawl_error *err)
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
        return cli_fail(err, PAWL_E_INVALID, "there is no state '%s'; did you mean '%s'?", name,
                        nearest.best);
    return cli_fail(err, PAWL_E_INVALID,
                    "there is no state '%s'; the states are ready, running, done, failed, expired, "
                    "cancelled, waiting and skipped",
                    name);
}

static pawl_status read_states(const cli_texts *texts, unsigned *ret_states, pawl_error *err)
{
    pawl_status st = PAWL_OK;

    *ret_states = 0;
    for (size_t i = 0; i < texts->count; i++) {
        for (const char *at = texts->items[i]; st == PAWL_OK; at++) {
            size_t length = strcspn(at, ",");
            CLI_AUTO_FREE char *name = cli_copy_bytes(at, length);
            st = read_state(name, ret_states, err);
            at += length;
            if (*at == '\0')
                break;
        }
    }
    return st;
}

/* ---- gathering ---- */

typedef struct gathering {
    json_t *array;    /* with --json */
    cli_table *table; /* otherwise, without --output */
    pawl_wall now;
    int64_t count;
    int64_t last; /* the id of the last one */
    bool more;
} gathering;

static void gather(gathering *to, const pawl_runs *page, int64_t wanted)
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
            cli_run_page(run, to->now);
        }
        to->last = run->id;
        to->count++;
    }
}

/* One more than wanted is looked for, to know whether there are more. */
static pawl_status gather_pages(pawl_store *store, const char *name, pawl_run_filter *filter,
                                int64_t wanted, gathering *to, pawl_error *err)
{
    int64_t page_size = filter->with_output ? PAGE_WITH_OUTPUT : PAGE;

    for (;;) {
        CLI_AUTO(pawl_runs) page = NULL;
        int64_t left = wanted + 1 - to->count;

        filter->limit = (int)(left < page_size ? left : page_size);
        pawl_status st = pawl_job_runs(store, name, filter, &page, &filter->before, err);
        if (st != PAWL_OK)
            return cli_job_explain(store, name, st, err);
        gather(to, page, wanted);
        if (filter->before == 0 || to->more)
            return PAWL_OK;
    }
}

static void print_end(const gathering *found)
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
    CLI_AUTO(cli_table) table = own->output ? NULL : cli_run_table();
    gathering found = {.table = table};
    const char *name = NULL;
    pawl_status st = cli_job_name("runs", args, &name, err);

    if (st == PAWL_OK)
        st = read_states(&own->states, &filter.states, err);
    if (st == PAWL_OK)
        st = pawl_store_now(store, &found.now, err);
    if (st != PAWL_OK)
        return st;
    filter.before = own->before;
    filter.with_output = own->output || args->common.json;
    found.array = args->common.json ? json_array() : NULL;
    st = gather_pages(store, name, &filter, own->limit ? own->limit : LIMIT_DEFAULT, &found, err);
    if (st != PAWL_OK)
        json_decref(found.array);
    else if (found.array)
        cli_json_print(stdout, found.array);
    else
        print_end(&found);
    return st;
}

/* src/cli/job_show.c - pawl job show: everything about one job, with its last runs. */
#include <stdio.h>

#include "fail.h"
#include "job.h"
#include "view.h"

#define LAST_RUNS 5

static void print_json(const pawl_job *job, const pawl_runs *runs)
{
    json_t *object = cli_job_json(job);
    json_t *array = json_array();

    cli_view_json_bytes(object, "payload", job->definition->payload, job->definition->payload_size);
    for (size_t i = 0; i < pawl_runs_count(runs); i++)
        json_array_append_new(array, cli_run_json(pawl_runs_at(runs, i)));
    json_object_set_new(object, "runs", array);
    cli_json_print(stdout, object);
}

static void print_page(const pawl_job *job, const pawl_runs *runs, pawl_wall now)
{
    CLI_AUTO(cli_table) table = cli_run_table();

    cli_job_page(job, now);
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
    CLI_AUTO(pawl_jobs) one = NULL;
    CLI_AUTO(pawl_runs) runs = NULL;
    pawl_run_filter filter = PAWL_RUN_FILTER_INIT;
    const char *name = NULL;
    pawl_status st = cli_job_name("show", args, &name, err);

    if (st == PAWL_OK && own->payload && args->common.json)
        st = cli_fail(err, PAWL_E_INVALID,
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
        print_json(job, runs);
    else
        print_page(job, runs, pawl_jobs_now(one));
    return PAWL_OK;
}

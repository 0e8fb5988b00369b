/* src/cli/job_list.c - pawl job ls: all jobs by name. */
#include <stdio.h>

#include "fail.h"
#include "job.h"
#include "view.h"

#define LIMIT_DEFAULT 100
#define LIMIT_MAX 10000
/* Below this width a row has no room for the time zone. */
#define NARROW 120

static void add_row(cli_table *table, const pawl_job *job, pawl_wall now)
{
    size_t width = cli_width(stdout);
    bool narrow = width > 0 && width < NARROW;
    CLI_AUTO_FREE char *schedule =
        narrow ? cli_copy(job->definition->schedule) : cli_job_schedule_text(job);
    bool ran = job->last_run_at.us != PAWL_NEVER.us;
    bool due = job->next_due_at.us != PAWL_NEVER.us;
    char when[CLI_WHEN_SIZE];

    cli_table_cell(table, CLI_PLAIN, "%s", job->name);
    cli_table_cell(table, CLI_PLAIN, "%s", schedule);
    if (due)
        cli_table_cell(table, CLI_PLAIN, "%s", cli_view_time(job->next_due_at, now, when));
    else
        cli_table_cell(table, CLI_YELLOW, "%s", job->enabled ? "-" : "disabled");
    cli_table_cell(table, CLI_PLAIN, "%s", ran ? cli_view_time(job->last_run_at, now, when) : "-");
    cli_table_cell(table, ran ? cli_run_color(job->last_run_state) : CLI_PLAIN, "%s",
                   ran ? pawl_run_state_name(job->last_run_state) : "-");
    cli_table_cell(table, CLI_RED, "%s", job->problem ? job->problem : "");
}

static void print_table(const pawl_jobs *jobs)
{
    static const cli_column columns[] = {{"JOB", false},    {"SCHEDULE", false},
                                         {"NEXT", false},   {"LAST RUN", false},
                                         {"STATUS", false}, {"PROBLEM", false}};
    CLI_AUTO(cli_table) table = cli_table_new(columns, CLI_COUNT(columns));

    for (size_t i = 0; i < pawl_jobs_count(jobs); i++)
        add_row(table, pawl_jobs_at(jobs, i), pawl_jobs_now(jobs));
    cli_table_print(table, stdout);
}

pawl_status cli_job_ls(const cli_args *args, pawl_store *store, pawl_error *err)
{
    const cli_job_settings *own = args->settings;
    CLI_AUTO(pawl_jobs) jobs = NULL;
    pawl_job_filter filter = PAWL_JOB_FILTER_INIT;
    pawl_status st;

    if (args->words.count > 0)
        return cli_fail(err, PAWL_E_INVALID,
                        "job ls takes options only; 'pawl job show %s' shows one job",
                        args->words.items[0]);
    if (own->limit > LIMIT_MAX)
        return cli_fail(err, PAWL_E_INVALID, "--limit must be at most %d; go on with --after",
                        LIMIT_MAX);
    filter.limit = own->limit ? (int)own->limit : LIMIT_DEFAULT;
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
        print_table(jobs);
    }
    if (count == (size_t)filter.limit && !args->common.json)
        cli_note("there may be more; go on with --after '%s'", pawl_jobs_at(jobs, count - 1)->name);
    return PAWL_OK;
}

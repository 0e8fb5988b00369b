/* src/cli/job_find.c - the job that the command line names, and "did you mean ...?" */
#include <stdio.h>

#include "fail.h"
#include "job.h"
#include "suggest.h"

#define NAMES_MAX 10000

pawl_status cli_job_name(const char *action, const cli_args *args, const char **ret_name,
                         pawl_error *err)
{
    if (args->words.count != 1)
        return cli_fail(err, PAWL_E_INVALID,
                        "job %s needs the name of one job, for example 'pawl job %s report'",
                        action, action);
    *ret_name = args->words.items[0];
    return PAWL_OK;
}

pawl_status cli_job_explain(pawl_store *store, const char *name, pawl_status st, pawl_error *err)
{
    CLI_AUTO(pawl_jobs) all = NULL;
    pawl_job_filter filter = PAWL_JOB_FILTER_INIT;
    pawl_error ignored = PAWL_ERROR_INIT;
    cli_suggestion nearest = {name, NULL, 0};

    if (st != PAWL_E_NOT_FOUND)
        return st;
    filter.limit = NAMES_MAX;
    if (pawl_job_list(store, &filter, &all, &ignored) != PAWL_OK)
        return st; /* what is known so far is said */
    for (size_t i = 0; i < pawl_jobs_count(all); i++)
        cli_suggest(&nearest, pawl_jobs_at(all, i)->name);
    if (nearest.best)
        return cli_fail(err, st, "there is no job '%.400s'; did you mean '%s'?", name,
                        nearest.best);
    return cli_fail(err, st, "there is no job '%.400s'; 'pawl job ls' lists them", name);
}

/* src/cli/commands/cmd_job.h - shared by the subcommands of `pawl job`. */
#ifndef CLI_CMD_JOB_H
#define CLI_CMD_JOB_H

#include <pawl/job.h>
#include <pawl/schedule.h>

#include "cli.h"
#include "compose.h"
#include "fields.h"
#include "console.h"
#include "alloc.h"
#include "table.h"

PAWLI_AUTO_DEFINE(pawl_jobs, pawl_jobs_free);
PAWLI_AUTO_DEFINE(pawl_runs, pawl_runs_free);
PAWLI_AUTO_DEFINE(pawl_schedule, pawl_schedule_free);

#define CLI_JOB_GRACE_NOT_GIVEN (-1)

/* Numbers: 0 means not given, unless noted. */
typedef struct cli_job_settings {
    /* next */
    const char *zone; /* also of add */
    const char *from;
    int64_t count;
    /* add */
    cli_compose message;
    const char *topic;
    const char *misfire;
    int64_t misfire_cap;
    int64_t misfire_grace_ms; /* CLI_JOB_GRACE_NOT_GIVEN */
    const char *overlap;
    int64_t jitter_ms;
    int64_t ttl_ms;
    int64_t run_timeout_ms;
    int64_t heartbeat_ms;
    int64_t keep;
    int64_t keep_for_ms;
    bool disabled;
    /* ls, show, runs */
    int64_t limit;
    const char *after;
    cli_texts states;
    int64_t before;
    bool output;
    bool payload;
    /* trigger, rm */
    bool force;
    bool yes;
    bool dry_run;
} cli_job_settings;

/* The subcommands. `args` are without the subcommand's name; `store` is NULL for `next`. */
typedef pawl_status (*cli_job_subcommand)(const cli_args *args, pawl_store *store, pawl_error *err);
pawl_status cli_job_next(const cli_args *args, pawl_store *store, pawl_error *err);
pawl_status cli_job_add(const cli_args *args, pawl_store *store, pawl_error *err);
pawl_status cli_job_ls(const cli_args *args, pawl_store *store, pawl_error *err);
pawl_status cli_job_show(const cli_args *args, pawl_store *store, pawl_error *err);
pawl_status cli_job_runs(const cli_args *args, pawl_store *store, pawl_error *err);
pawl_status cli_job_enable(const cli_args *args, pawl_store *store, pawl_error *err);
pawl_status cli_job_disable(const cli_args *args, pawl_store *store, pawl_error *err);
pawl_status cli_job_trigger(const cli_args *args, pawl_store *store, pawl_error *err);
pawl_status cli_job_rm(const cli_args *args, pawl_store *store, pawl_error *err);

/* The only argument, which must be the name of a job. */
pawl_status cli_job_name(const char *action, const cli_args *args, const char **ret_name,
                         pawl_error *err);
/* Returns the library's status for `name`; if there is no such job, adds the nearest name. */
pawl_status cli_job_explain(pawl_store *store, const char *name, pawl_status st, pawl_error *err);

/* "Mon 2026-01-05 02:30:00 CET" */
#define CLI_FIRE_SIZE 96
const char *cli_job_fire_text(const pawl_occurrence *fire, char ret_text[CLI_FIRE_SIZE]);
json_t *cli_job_fire_json(const pawl_occurrence *fire);
/*
 * The next occurrences of a job, up to `count`; fewer if no more are known. *ret_schedule (NULL
 * afterwards if it cannot be parsed) is the caller's.
 */
size_t cli_job_next_fires(const pawl_job *job, pawl_occurrence *ret_fires, size_t count,
                          pawl_schedule **ret_schedule);

/* A job with its next occurrences, without payload. */
extern const cli_noun cli_job_noun;
/* A run; its output only if it was read. */
extern const cli_noun cli_run_noun;
cli_color cli_run_color(pawl_run_state state);

#endif

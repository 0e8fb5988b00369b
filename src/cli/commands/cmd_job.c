/* src/cli/commands/cmd_job.c - pawl job: recurring work. */
#include <stddef.h>
#include <stdio.h>

#include "cli.h"
#include "cmd_job.h"
#include "console.h"
#include "database.h"
#include "fail.h"
#include "scope.h"
#include "terminal_text.h"
#include "units.h"

#define NAMES_MAX 10000

pawl_status cli_job_name(const char *action, const cli_args *args, const char **ret_name,
                         pawl_error *err)
{
    if (args->words.count != 1)
        return pawli_fail(err, PAWL_E_INVALID,
                          "job %s needs the name of one job, for example 'pawl job %s report'",
                          action, action);
    *ret_name = args->words.items[0];
    return PAWL_OK;
}

pawl_status cli_job_explain(pawl_store *store, const char *name, pawl_status st, pawl_error *err)
{
    PAWLI_AUTO(pawl_jobs) all = NULL;
    pawl_job_filter filter = PAWL_JOB_FILTER_INIT;
    pawl_error ignored = PAWL_ERROR_INIT;
    cli_suggestion nearest = {name, NULL, 0};

    if (st != PAWL_E_NOT_FOUND)
        return st;
    filter.limit = NAMES_MAX;
    if (pawl_job_list(store, &filter, &all, NULL, &ignored) != PAWL_OK)
        return st; /* what is known so far is said */
    for (size_t i = 0; i < pawl_jobs_count(all); i++)
        cli_suggest(&nearest, pawl_jobs_at(all, i)->name);
    if (nearest.best)
        return pawli_fail(err, st, "unknown job '%.400s'; did you mean '%s'?", name, nearest.best);
    return pawli_fail(err, st, "unknown job '%.400s'; 'pawl job ls' lists them", name);
}

static const cli_job_settings job_defaults = {.misfire_grace_ms = CLI_JOB_GRACE_NOT_GIVEN};

/* ---- which action ---- */

enum {
    NEXT = 1,
    ADD = 2,
    LS = 4,
    SHOW = 8,
    RUNS = 16,
    ENABLE = 32,
    DISABLE = 64,
    TRIGGER = 128,
    RM = 256
};

typedef struct job_subcommand {
    const char *name;
    unsigned bit;
    cli_job_subcommand run;
} job_subcommand;

static const job_subcommand job_subcommands[] = {
    {"add", ADD, cli_job_add},
    {"ls", LS, cli_job_ls},
    {"show", SHOW, cli_job_show},
    {"runs", RUNS, cli_job_runs},
    {"enable", ENABLE, cli_job_enable},
    {"disable", DISABLE, cli_job_disable},
    {"trigger", TRIGGER, cli_job_trigger},
    {"rm", RM, cli_job_rm},
    {"next", NEXT, cli_job_next},
};

static const char job_usage[] =
    "use 'pawl job add NAME SCHEDULE --topic TOPIC', 'pawl job ls', 'show NAME', "
    "'runs NAME', 'enable NAME', 'disable NAME', 'trigger NAME', 'rm NAME' or 'pawl "
    "job next SCHEDULE'";

static pawl_status run_job(const cli_args *args, pawl_error *err)
{
    PAWLI_AUTO(pawl_store) store = NULL;
    const job_subcommand *wanted = CLI_SUBCOMMAND(args, job_subcommands, job_usage, err);
    pawl_status st;

    if (!wanted)
        return PAWL_E_INVALID;
    st = cli_subcommand_check(args, wanted->bit, err);
    if (st == PAWL_OK && wanted->bit != NEXT)
        st = cli_database_open(args, &store, err);
    if (st != PAWL_OK)
        return st;
    cli_args rest = cli_subcommand_args(args);
    return wanted->run(&rest, store, err);
}

/* ---- the verb ---- */

#define FIELD(field) offsetof(cli_job_settings, field)
static const cli_option job_options[] = {
    {"topic", "TOPIC", "add: the topic of its messages", CLI_TEXT, 't', FIELD(topic), 0, 0, ADD},
    {"tz", "ZONE", "add, next: the time zone, such as Europe/Berlin (default: UTC)", CLI_TEXT, 'z',
     FIELD(zone), 0, 0, ADD | NEXT},
    {"misfire", "POLICY",
     "add: of the occurrences that were missed, run the latest only: once (default), "
     "several: all, or none: skip",
     CLI_TEXT, 0, FIELD(misfire), 0, 0, ADD},
    {"misfire-cap", "N", "add: with 'all', at most N (default: 100)", CLI_NUMBER, 0,
     FIELD(misfire_cap), 1, 1000, ADD},
    {"misfire-grace", "TIME",
     "add: an occurrence counts as missed when it is later than this (default: 1m)", CLI_SPAN, 0,
     FIELD(misfire_grace_ms), 0, 7 * CLI_DAY_MS, ADD},
    {"overlap", "POLICY",
     "add: while a run is unfinished, skip occurrences (default), allow another run, "
     "or queue one",
     CLI_TEXT, 0, FIELD(overlap), 0, 0, ADD},
    {"jitter", "TIME", "add: delay each run by a random time up to this", CLI_SPAN, 0,
     FIELD(jitter_ms), 0, CLI_DAY_MS, ADD},
    {"max-attempts", "N", "add: of a run (default: 10; with a destination: until it expires)",
     CLI_NUMBER, 0, FIELD(message.max_attempts), 1, 1000, ADD},
    {"run-timeout", "TIME", "add: timeout of an attempt; 0: none (default)", CLI_SPAN, 0,
     FIELD(run_timeout_ms), 0, 7 * CLI_DAY_MS, ADD},
    {"ttl", "TIME",
     "add: runs that have not started this long after they were due expire (default: "
     "never; with a destination 24h)",
     CLI_SPAN, 0, FIELD(ttl_ms), 0, 36500 * CLI_DAY_MS, ADD},
    {"lease", "TIME", "add: duration of a run's lease, which is renewed (default: 2m)", CLI_SPAN, 0,
     FIELD(message.lease_ms), CLI_SECOND_MS, 7 * CLI_DAY_MS, ADD},
    {"heartbeat", "TIME",
     "add: interval at which the lease is renewed (default: 30s, or a third of the "
     "lease)",
     CLI_SPAN, 0, FIELD(heartbeat_ms), 100, 7 * CLI_DAY_MS, ADD},
    {"keep", "N", "add: keep the newest N runs and skips in the history (default: 100)", CLI_NUMBER,
     0, FIELD(keep), 1, 100000, ADD},
    {"keep-for", "TIME", "add: keep them for this long only (default: no limit)", CLI_SPAN, 0,
     FIELD(keep_for_ms), 0, 36500 * CLI_DAY_MS, ADD},
    {"disabled", NULL, "add: a new job does not run until it is enabled", CLI_FLAG, 0,
     FIELD(disabled), 0, 0, ADD},
    {"priority", "N", "add: 0 to 9, higher first (default: 0)", CLI_NUMBER, 'p',
     FIELD(message.priority), 0, PAWL_PRIORITY_MAX, ADD},
    {"header", "NAME=VALUE", "add: a header; may be repeated", CLI_TEXTS, 0, FIELD(message.header),
     0, 0, ADD},
    {"headers", "JSON", "add: all headers as a JSON object; --header adds to it", CLI_TEXT, 0,
     FIELD(message.headers), 0, 0, ADD},
    {"correlation", "TEXT", "add: a correlation id", CLI_TEXT, 0, FIELD(message.correlation), 0, 0,
     ADD},
    {"destination", "NAME", "add: the service to deliver it to (default: a local worker)", CLI_TEXT,
     0, FIELD(message.destination), 0, 0, ADD},
    {"type", "TYPE", "add: signal, command, push_call or response (default: signal)", CLI_TEXT, 0,
     FIELD(message.type), 0, 0, ADD},
    {"limit", "N", "ls, runs: at most N (default: 100; runs: 50)", CLI_NUMBER, 0, FIELD(limit), 1,
     1000000, LS | RUNS},
    {"after", "NAME", "ls: names after this one (next page)", CLI_TEXT, 0, FIELD(after), 0, 0, LS},
    {"payload", NULL, "show: write only the payload, as bytes, to stdout", CLI_FLAG, 0,
     FIELD(payload), 0, 0, SHOW},
    {"state", "STATES",
     "runs: only ready, running, done, failed, expired, cancelled, waiting, skipped; a comma "
     "list, or repeated",
     CLI_TEXTS, 's', FIELD(states), 0, 0, RUNS},
    {"before", "RUN", "runs: only ids below this one (next page)", CLI_NUMBER, 0, FIELD(before), 1,
     INT64_MAX, RUNS},
    {"output", NULL, "runs: one paragraph per run, with its output", CLI_FLAG, 0, FIELD(output), 0,
     0, RUNS},
    {"force", NULL, "trigger: even while runs are unfinished, for any --overlap", CLI_FLAG, 0,
     FIELD(force), 0, 0, TRIGGER},
    {"dry-run", NULL, "rm: show the jobs without changing anything", CLI_FLAG, 'n', FIELD(dry_run),
     0, 0, RM},
    {"yes", NULL, "rm: do not ask for confirmation", CLI_FLAG, 'y', FIELD(yes), 0, 0, RM},
    {"count", "N", "next: number of occurrences to show (default: 10)", CLI_NUMBER, 0, FIELD(count),
     1, 1000, NEXT},
    {"from", "TIME", "next: occurrences after this time (default: now)", CLI_TEXT, 0, FIELD(from),
     0, 0, NEXT},
};

static const cli_exit job_exits[] = {
    {PAWL_E_EMPTY, "rm: you did not confirm; nothing was changed"},
    {PAWL_E_CONFLICT, "the payload is too large"},
    {PAWL_E_NOT_FOUND, "there is no such job; next: no such time zone"},
    {PAWL_E_BUSY, "trigger: a run is unfinished; see --force"},
    {PAWL_E_IN_DOUBT, "in doubt: it may have been stored; the error message says how to find out"},
};

const cli_verb cli_verb_job = {
    .name = "job",
    .usage = "add NAME SCHEDULE [PAYLOAD | -] --topic TOPIC\nls\nshow NAME\nruns NAME\n"
             "enable NAME...\ndisable NAME...\ntrigger NAME\nrm NAME...\nnext SCHEDULE",
    .summary = "manage recurring jobs: schedules, runs, history",
    .about = "A job enqueues a message at each occurrence of its schedule; a worker ('pawl "
             "work', or the application) creates these runs and processes them. 'add' creates "
             "the job, or replaces the definition of an existing one. 'trigger' runs it now, "
             "outside its schedule. 'rm' deletes it with its history and cancels runs that "
             "have not started; it asks for confirmation unless --yes is given.\n"
             "A schedule is a cron expression of 6 fields (second, minute, hour, day of the "
             "month, month, day of the week) or 5 (without seconds), with names, ranges, "
             "steps, lists, L, W and #; @hourly, @daily, @weekly, @monthly or @yearly; 'every "
             "1h30m'; or 'every 10m from start'. Quote it. 'next' describes a schedule in "
             "English and shows its next occurrences in local time and in UTC, with the "
             "effects of clock changes; it needs no database.",
    .examples = "  pawl job add report '30 6 * * MON-FRI' '{\"to\": \"ann\"}' -t report -z "
                "Europe/Berlin\n"
                "  pawl job runs report --state failed --output\n"
                "  pawl job next '0 0 9 LW * *' --count 3 --from 2026-01-01T00:00Z",
    .options = job_options,
    .option_count = PAWLI_COUNT(job_options),
    .defaults = &job_defaults,
    .settings_size = sizeof job_defaults,
    .exits = job_exits,
    .exit_count = PAWLI_COUNT(job_exits),
    .run = run_job,
};

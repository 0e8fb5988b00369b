/* src/cli/cmd_work.c - pawl work: run a command for each message. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "database.h"
#include "fail.h"
#include "hidden.h"
#include "output.h"
#include "when.h"
#include "work.h"

typedef struct settings {
    cli_texts topics;
    const char *exec;
    int64_t lease_ms;
    int64_t concurrency;
    bool once;
    bool quiet;
    bool until_empty;
    bool no_scheduler;
    int64_t max;
    int64_t poll_ms;
    int64_t grace_ms;
    int64_t run_timeout_ms;
} settings;

static const settings defaults = {
    .lease_ms = 30 * CLI_SECOND_MS, .poll_ms = 30 * CLI_SECOND_MS, .grace_ms = 10 * CLI_SECOND_MS};

static bool in_path(const char *name)
{
    const char *path = getenv("PATH");

    if (strchr(name, '/'))
        return access(name, X_OK) == 0;
    for (path = path ? path : "/bin:/usr/bin"; path;) {
        size_t length = strcspn(path, ":");
        CLI_AUTO_FREE char *file =
            cli_print("%.*s/%s", length ? (int)length : 1, length ? path : ".", name);
        if (access(file, X_OK) == 0)
            return true;
        path = path[length] ? path + length + 1 : NULL;
    }
    return false;
}

/* "--exec TEXT" by the shell, or the words after "--" as they are. *ret_argv: free() it. */
static pawl_status read_command(const cli_args *args, char ***ret_argv, pawl_error *err)
{
    const settings *own = args->settings;
    const cli_words *words = &args->words;
    size_t count = words->count - words->literal_from;
    char **argv;

    if (words->literal_from > 0)
        return cli_fail(err, PAWL_E_INVALID,
                        "'%s' is not an option; a command goes behind --exec, or behind --",
                        words->items[0]);
    if ((own->exec != NULL) == (count > 0))
        return cli_fail(err, PAWL_E_INVALID,
                        "which command? Give either --exec 'COMMAND' or -- COMMAND ARGUMENTS");
    if (own->exec && !*own->exec)
        return cli_fail(err, PAWL_E_INVALID, "--exec is empty; it must be a command");
    if (!own->exec && !in_path(words->items[0]))
        return cli_fail(err, PAWL_E_INVALID, "there is no command '%s' that could be run",
                        words->items[0]);
    argv = cli_alloc(own->exec ? 4 : count + 1, sizeof *argv);
    if (own->exec) {
        static char shell[] = "/bin/sh";
        static char flag[] = "-c";
        argv[0] = shell;
        argv[1] = flag;
        memcpy(&argv[2], &own->exec, sizeof argv[2]); /* exec wants it without const */
    } else {
        memcpy(argv, words->items, count * sizeof *argv);
    }
    *ret_argv = argv;
    return PAWL_OK;
}

static pawl_status check(const settings *own, pawl_error *err)
{
    if (own->once + own->until_empty + (own->max > 0) > 1 && !(own->until_empty && own->max > 0))
        return cli_fail(err, PAWL_E_INVALID, "--once goes with neither --until-empty nor --max");
    return PAWL_OK;
}

/* A call must end well before the lease does, so that there is time for another. */
static pawl_status open_store(const cli_args *args, pawl_store **ret_store, pawl_error *err)
{
    const settings *own = args->settings;
    pawl_store_options options = cli_database_options(args);
    const char *url = NULL;
    pawl_status st = cli_database_url(args, &url, err);

    if (st != PAWL_OK)
        return st;
    /* Below info, every idle look at the queue is a record. Warnings are shown in any case. */
    cli_database_log(&options, args->common.verbose ? PAWL_LOG_INFO : PAWL_LOG_WARNING);
    if (!cli_database_timeout_given(args) && options.timeout_ms > own->lease_ms / 3)
        options.timeout_ms = own->lease_ms / 3 < CLI_SECOND_MS ? CLI_SECOND_MS : own->lease_ms / 3;
    return pawl_store_open(url, &options, ret_store, err);
}

static void sum_up(const cli_args *args, const cli_work *work, const pawl_worker_stats *stats)
{
    const struct {
        const char *key;
        int64_t count;
    } counts[] = {{"done", stats->done},
                  {"abandoned", stats->retried},
                  {"failed", stats->failed},
                  {"released", stats->released},
                  {"dropped", stats->lost}};
    json_t *document;

    if (args->common.json) {
        document = json_object();
        cli_json_number(document, "claimed", stats->claimed);
        for (size_t i = 0; i < CLI_COUNT(counts); i++)
            cli_json_number(document, counts[i].key, counts[i].count);
        cli_json_print(stdout, document);
        return;
    }
    if (!work->options->talk)
        return;
    fprintf(stderr, "pawl: worked on %lld message%s", (long long)stats->claimed,
            stats->claimed == 1 ? "" : "s");
    for (size_t i = 0; i < CLI_COUNT(counts); i++)
        if (counts[i].count > 0)
            fprintf(stderr, ", %lld %s", (long long)counts[i].count, counts[i].key);
    fputs(".\n", stderr);
}

static pawl_worker_options worker_options(const settings *own, const cli_topics *topics)
{
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT;

    options.concurrency =
        own->concurrency > 0 ? (int)own->concurrency : cli_topics_concurrency(topics);
    options.lease_ms = own->lease_ms;
    options.grace_ms = own->grace_ms;
    options.cancel_ms = CLI_JOB_ENDS_MS;
    options.longest_ms = own->poll_ms;
    options.claim_ahead = false; /* commands are slow, and other workers may be idle */
    options.until_empty = own->once || own->until_empty;
    options.max_messages = own->once ? 1 : own->max;
    options.scheduler = !own->no_scheduler;
    return options;
}

static pawl_status work(const cli_args *args, const cli_work_options *options, char *const *command,
                        pawl_error *err)
{
    const settings *own = args->settings;
    CLI_AUTO(pawl_store) store = NULL;
    pawl_worker_stats stats = PAWL_WORKER_STATS_INIT;
    cli_work work = CLI_WORK_INIT;
    pawl_status st = open_store(args, &store, err);

    if (st != PAWL_OK)
        return st;
    cli_hidden_add(args->config);
    work.options = options;
    work.command.argv = command;
    work.command.stdout_to_stderr = args->common.json;
    work.command.stdout_by_us = options->progress && isatty(STDOUT_FILENO) == 1;
    st = cli_work_run(&work, store, worker_options(own, &options->topics), &stats, err);
    sum_up(args, &work, &stats);
    if (st != PAWL_OK)
        return st;
    if (atomic_load(&work.stop_signal) == SIGINT)
        return PAWL_E_INTERRUPTED; /* asked for: nothing to report */
    return own->once && stats.claimed == 0 ? PAWL_E_EMPTY : PAWL_OK;
}

static pawl_status run(const cli_args *args, pawl_error *err)
{
    const settings *own = args->settings;
    bool terminal = isatty(STDERR_FILENO) == 1 && !own->quiet;
    CLI_AUTO_FREE char **command = NULL;
    cli_work_options options = {
        .grace_ms = own->grace_ms,
        .run_timeout_ms = own->run_timeout_ms,
        .talk = args->common.verbose || terminal,
        .progress = terminal && !args->common.json,
    };
    pawl_status st = check(own, err);

    if (st == PAWL_OK)
        st = read_command(args, &command, err);
    if (st == PAWL_OK)
        st = cli_topics_parse(&own->topics, &options.topics, err);
    if (st == PAWL_OK)
        st = work(args, &options, command, err);
    cli_topics_done(&options.topics);
    return st;
}

#define FIELD(field) offsetof(settings, field)
static const cli_option options[] = {
    {"topic", "TOPIC[:N],...",
     "only these topics (default: all), N of a topic at a time; may be repeated; a comma, colon or "
     "backslash in a name is written \\, \\: \\\\",
     CLI_TEXTS, 't', FIELD(topics), 0, 0},
    {"exec", "COMMAND", "what to run, by /bin/sh; or put the command behind --", CLI_TEXT, 'e',
     FIELD(exec), 0, 0},
    {"concurrency", "N", "commands at a time (default: 1, or as many as --topic allows)",
     CLI_NUMBER, 'j', FIELD(concurrency), 1, CLI_COMMANDS_MAX},
    {"lease", "TIME", "how long a message is ours; renewed at a third (default: 30s)", CLI_SPAN, 0,
     FIELD(lease_ms), CLI_SECOND_MS, 7 * CLI_DAY_MS},
    {"run-timeout", "TIME", "stop a command after this; 0: never (default)", CLI_SPAN, 0,
     FIELD(run_timeout_ms), 0, 365 * CLI_DAY_MS},
    {"once", NULL, "one message, if one is due, and end", CLI_FLAG, 0, FIELD(once), 0, 0},
    {"until-empty", NULL, "end when nothing is due", CLI_FLAG, 0, FIELD(until_empty), 0, 0},
    {"max", "N", "end after so many messages", CLI_NUMBER, 0, FIELD(max), 1, INT64_MAX},
    {"no-scheduler", NULL, "leave it to other workers to make the runs of jobs that are due",
     CLI_FLAG, 0, FIELD(no_scheduler), 0, 0},
    {"poll", "TIME", "look at least so often when idle and nothing wakes it (default: 30s)",
     CLI_SPAN, 0, FIELD(poll_ms), 1, CLI_HOUR_MS},
    {"grace", "TIME", "how long commands may finish after a signal (default: 10s)", CLI_SPAN, 0,
     FIELD(grace_ms), 0, CLI_DAY_MS},
    {"quiet", NULL, "on a terminal: no progress line, no line per message, no summary", CLI_FLAG,
     'q', FIELD(quiet), 0, 0},
};
static const cli_exit exits[] = {
    {PAWL_E_EMPTY, "--once, and nothing was due"},
    {PAWL_E_INTERRUPTED, "stopped by Ctrl-C (by SIGTERM: 0); unfinished messages were released"},
    {PAWL_E_IO, "the command could not be started"},
};

const cli_verb cli_verb_work = {
    .name = "work",
    .usage = "--exec COMMAND\n-- COMMAND [ARGUMENT...]",
    .summary = "run a command for each message",
    .about =
        "The command gets the payload on stdin and, in its environment, PAWL_ID, PAWL_WORK_ID, "
        "PAWL_TOPIC, PAWL_TYPE, PAWL_ATTEMPT, PAWL_MAX_ATTEMPTS, PAWL_FENCE, PAWL_PRIORITY, "
        "PAWL_CORRELATION_ID and PAWL_HEADERS; for a run of a job also PAWL_JOB, PAWL_RUN and "
        "PAWL_SCHEDULED_AT, and the end of its stdout is kept as the run's output. Exit status 0: "
        "done. 65: failed for good. Anything "
        "else: tried again later, as the message's attempts allow. The end of its stderr is kept "
        "as the error.\n"
        "While it runs the lease is renewed; if the message is cancelled or lost to another "
        "worker, the command is stopped. SIGINT or SIGTERM: no new messages, commands may finish, "
        "what is left is released without counting the attempt; a second signal does it at once.\n"
        "It also makes the runs of jobs that are due; one worker of a database does at a time.\n"
        "On a terminal a line at the bottom says how it is going.",
    .examples = "  pawl work --topic mail --exec ./send-mail\n"
                "  pawl work --topic image:4,report:1 -- ./convert --quality 80\n"
                "  pawl work --until-empty --exec 'cat >> inbox.txt'",
    .options = options,
    .option_count = CLI_COUNT(options),
    .defaults = &defaults,
    .settings_size = sizeof(settings),
    .exits = exits,
    .exit_count = CLI_COUNT(exits),
    .run = run,
};

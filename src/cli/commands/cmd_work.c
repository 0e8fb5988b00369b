/* src/cli/commands/cmd_work.c - pawl work: run a command for each message. */
#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "console.h"
#include "database.h"
#include "environment.h"
#include "fail.h"
#include "alloc.h"
#include "scope.h"
#include "units.h"
#include "work_run.h"

static void topics_done(cli_topics *topics)
{
    for (size_t i = 0; i < topics->count; i++)
        free(topics->items[i].name);
    free(topics->items);
    *topics = (cli_topics){0};
}

/* The name at *at, which moves behind it: to a colon, a comma or the end. free() it. */
static char *read_topic_name(const char **at)
{
    char *name = cli_copy(*at);
    size_t length = 0;

    while (**at && **at != ',' && **at != ':') {
        if (**at == '\\' && (*at)[1] && strchr(",:\\", (*at)[1]))
            (*at)++;
        name[length++] = *(*at)++;
    }
    name[length] = '\0';
    return name;
}

/* The number behind a colon; *at moves behind it. */
static pawl_status read_topic_limit(const char *given, const char **at, int *ret_limit,
                                    pawl_error *err)
{
    char *end = NULL;
    long limit = 0;

    *ret_limit = 0;
    if (**at != ':')
        return PAWL_OK;
    (*at)++;
    if (isdigit((unsigned char)**at))
        limit = strtol(*at, &end, 10);
    if (!end || (*end && *end != ',') || limit < 1 || limit > CLI_COMMANDS_MAX)
        return pawli_fail(
            err, PAWL_E_INVALID,
            "--topic '%s': after a colon there must be a number from 1 to %d; write a colon "
            "in a name as \\:",
            given, CLI_COMMANDS_MAX);
    *at = end;
    *ret_limit = (int)limit;
    return PAWL_OK;
}

static pawl_status add_topic(cli_topics *topics, char *take_name, int limit, pawl_error *err)
{
    for (size_t i = 0; i < topics->count; i++) {
        if (strcmp(topics->items[i].name, take_name) != 0)
            continue;
        free(take_name);
        if (topics->items[i].limit == limit)
            return PAWL_OK;
        return pawli_fail(err, PAWL_E_INVALID, "--topic gives '%s' twice with different limits",
                          topics->items[i].name);
    }
    topics->items = cli_grow(topics->items, topics->count + 1, sizeof *topics->items);
    topics->items[topics->count++] = (cli_topic){take_name, limit};
    return PAWL_OK;
}

static pawl_status parse_topic_list(const char *given, cli_topics *topics, pawl_error *err)
{
    const char *at = given;
    pawl_status st = PAWL_OK;

    for (bool more = true; more && st == PAWL_OK;) {
        char *name = read_topic_name(&at);
        int limit = 0;
        if (!*name)
            st = pawli_fail(err, PAWL_E_INVALID,
                            "--topic '%s' names an empty topic; write a comma in a name as \\,",
                            given);
        if (st == PAWL_OK)
            st = read_topic_limit(given, &at, &limit, err);
        if (st == PAWL_OK)
            st = add_topic(topics, name, limit, err);
        else
            free(name);
        more = *at == ',';
        at += more;
    }
    return st;
}

static pawl_status parse_topics(const cli_texts *given, cli_topics *topics, pawl_error *err)
{
    pawl_status st = PAWL_OK;

    for (size_t i = 0; i < given->count && st == PAWL_OK; i++)
        st = parse_topic_list(given->items[i], topics, err);
    return st;
}

static int topics_concurrency(const cli_topics *topics)
{
    int sum = 0;
    bool limited = false;

    for (size_t i = 0; i < topics->count && sum < CLI_COMMANDS_MAX; i++) {
        limited |= topics->items[i].limit > 0;
        sum += topics->items[i].limit > 0 ? topics->items[i].limit : 1;
    }
    if (!limited)
        return 1;
    return sum < CLI_COMMANDS_MAX ? sum : CLI_COMMANDS_MAX;
}

typedef struct work_settings {
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
} work_settings;

/* 0: the default of the library. */
static const work_settings work_defaults = {.grace_ms = 10 * CLI_SECOND_MS};

static bool command_in_path(const char *name)
{
    const char *path = getenv("PATH");

    if (strchr(name, '/'))
        return access(name, X_OK) == 0;
    for (path = path ? path : "/bin:/usr/bin"; path;) {
        size_t length = strcspn(path, ":");
        PAWLI_AUTO_FREE char *file =
            cli_print("%.*s/%s", length ? (int)length : 1, length ? path : ".", name);
        if (access(file, X_OK) == 0)
            return true;
        path = path[length] ? path + length + 1 : NULL;
    }
    return false;
}

/* "--exec TEXT" by the shell, or the words after "--" as they are. *ret_argv: free() it. */
static pawl_status read_work_command(const cli_args *args, char ***ret_argv, pawl_error *err)
{
    const work_settings *own = args->settings;
    const cli_words *words = &args->words;
    size_t count = words->count - words->literal_from;
    char **argv;

    if (words->literal_from > 0)
        return pawli_fail(err, PAWL_E_INVALID,
                          "'%s' is not an option; give the command after --exec or after --",
                          words->items[0]);
    if ((own->exec != NULL) == (count > 0))
        return pawli_fail(err, PAWL_E_INVALID,
                          "no command given; use --exec 'COMMAND' or -- COMMAND ARGUMENTS");
    if (own->exec && !*own->exec)
        return pawli_fail(err, PAWL_E_INVALID, "--exec is empty; it must be a command");
    if (!own->exec && !command_in_path(words->items[0]))
        return pawli_fail(err, PAWL_E_INVALID, "command not found: '%s'", words->items[0]);
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

static pawl_status check_work_options(const work_settings *own, pawl_error *err)
{
    if (own->once + own->until_empty + (own->max > 0) > 1 && !(own->until_empty && own->max > 0))
        return pawli_fail(err, PAWL_E_INVALID, "--once excludes --until-empty and --max");
    return PAWL_OK;
}

/* A call must end well before the lease does, so that there is time for another. */
static pawl_status open_work_store(const cli_args *args, int64_t lease_ms, pawl_store **ret_store,
                                   pawl_error *err)
{
    pawl_store_options options = cli_database_options(args);
    const char *url = NULL;
    pawl_status st = cli_database_url(args, &url, err);

    if (st != PAWL_OK)
        return st;
    /* Below info, every idle poll of the queue is a record. Warnings are always shown. */
    cli_database_log(&options, args->common.verbose ? PAWL_LOG_INFO : PAWL_LOG_WARNING);
    if (!cli_database_timeout_given(args) && options.timeout_ms > lease_ms / 3)
        options.timeout_ms = lease_ms / 3 < CLI_SECOND_MS ? CLI_SECOND_MS : lease_ms / 3;
    return pawl_store_open(url, &options, ret_store, err);
}

static void print_work_summary(const cli_args *args, const cli_work *work,
                               const pawl_worker_stats *stats)
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
        for (size_t i = 0; i < PAWLI_COUNT(counts); i++)
            cli_json_number(document, counts[i].key, counts[i].count);
        cli_json_print(stdout, document);
        return;
    }
    if (!work->options->talk)
        return;
    fprintf(stderr, "pawl: processed %lld message%s", (long long)stats->claimed,
            stats->claimed == 1 ? "" : "s");
    for (size_t i = 0; i < PAWLI_COUNT(counts); i++)
        if (counts[i].count > 0)
            fprintf(stderr, ", %lld %s", (long long)counts[i].count, counts[i].key);
    fputs(".\n", stderr);
}

static pawl_worker_options worker_options(const work_settings *own, const cli_topics *topics)
{
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT;

    options.concurrency = own->concurrency > 0 ? (int)own->concurrency : topics_concurrency(topics);
    if (own->lease_ms > 0)
        options.lease_ms = own->lease_ms;
    options.grace_ms = own->grace_ms;
    options.cancel_ms = CLI_COMMAND_ENDS_MS;
    if (own->poll_ms > 0)
        options.max_poll_ms = own->poll_ms;
    options.claim_ahead = false; /* commands are slow, and other workers may be idle */
    options.until_empty = own->once || own->until_empty;
    options.max_messages = own->once ? 1 : own->max;
    options.scheduler = !own->no_scheduler;
    return options;
}

static pawl_status work_on_messages(const cli_args *args, const cli_work_options *options,
                                    char *const *command, pawl_error *err)
{
    const work_settings *own = args->settings;
    PAWLI_AUTO(pawl_store) store = NULL;
    pawl_worker_stats stats = PAWL_WORKER_STATS_INIT;
    cli_work work = CLI_WORK_INIT;
    pawl_worker_options worker = worker_options(own, &options->topics);
    pawl_status st = open_work_store(args, worker.lease_ms, &store, err);

    if (st != PAWL_OK)
        return st;
    cli_hidden_add(args->config);
    work.options = options;
    work.command.argv = command;
    work.command.stdout_to_stderr = args->common.json;
    work.command.stdout_by_us = options->progress && isatty(STDOUT_FILENO) == 1;
    st = cli_work_run(&work, store, worker, &stats, err);
    print_work_summary(args, &work, &stats);
    if (st != PAWL_OK)
        return st;
    if (atomic_load(&work.stop_signal) == SIGINT)
        return PAWL_E_INTERRUPTED; /* asked for: nothing to report */
    return own->once && stats.claimed == 0 ? PAWL_E_EMPTY : PAWL_OK;
}

static pawl_status run_work(const cli_args *args, pawl_error *err)
{
    const work_settings *own = args->settings;
    bool terminal = isatty(STDERR_FILENO) == 1 && !own->quiet;
    PAWLI_AUTO_FREE char **command = NULL;
    cli_work_options options = {
        .grace_ms = own->grace_ms,
        .run_timeout_ms = own->run_timeout_ms,
        .talk = args->common.verbose || terminal,
        .progress = terminal && !args->common.json,
    };
    pawl_status st = check_work_options(own, err);

    if (st == PAWL_OK)
        st = read_work_command(args, &command, err);
    if (st == PAWL_OK)
        st = parse_topics(&own->topics, &options.topics, err);
    if (st == PAWL_OK)
        st = work_on_messages(args, &options, command, err);
    topics_done(&options.topics);
    return st;
}

#define FIELD(field) offsetof(work_settings, field)
static const cli_option work_options[] = {
    {"topic", "TOPIC[:N],...",
     "claim only these topics (default: all), at most N messages of a topic at a "
     "time; may be repeated; write a comma, colon or backslash in a name as \\, \\: "
     "\\\\",
     CLI_TEXTS, 't', FIELD(topics), 0, 0},
    {"exec", "COMMAND", "run by /bin/sh; or give the command after --", CLI_TEXT, 'e', FIELD(exec),
     0, 0},
    {"concurrency", "N",
     "run at most N commands at a time (default: 1, or the sum of the limits in "
     "--topic)",
     CLI_NUMBER, 'j', FIELD(concurrency), 1, CLI_COMMANDS_MAX},
    {"lease", "TIME", "duration of the lease, renewed after a third of it (default: 30s)", CLI_SPAN,
     0, FIELD(lease_ms), CLI_SECOND_MS, 7 * CLI_DAY_MS},
    {"run-timeout", "TIME", "timeout of a command; 0: none (default)", CLI_SPAN, 0,
     FIELD(run_timeout_ms), 0, 365 * CLI_DAY_MS},
    {"once", NULL, "process one message, if one is due, and exit", CLI_FLAG, 0, FIELD(once), 0, 0},
    {"until-empty", NULL, "exit when no message is due", CLI_FLAG, 0, FIELD(until_empty), 0, 0},
    {"max", "N", "exit after N messages", CLI_NUMBER, 0, FIELD(max), 1, INT64_MAX},
    {"no-scheduler", NULL, "do not create the runs of due jobs; other workers do", CLI_FLAG, 0,
     FIELD(no_scheduler), 0, 0},
    {"poll", "TIME", "poll at least this often when idle (default: 30s)", CLI_SPAN, 0,
     FIELD(poll_ms), 1, CLI_HOUR_MS},
    {"grace", "TIME", "grace period for running commands after a signal (default: 10s)", CLI_SPAN,
     0, FIELD(grace_ms), 0, CLI_DAY_MS},
    {"quiet", NULL, "on a terminal: no progress line, no line per message, no summary", CLI_FLAG,
     'q', FIELD(quiet), 0, 0},
};
static const cli_exit work_exits[] = {
    {PAWL_E_EMPTY, "--once: no message was due"},
    {PAWL_E_INTERRUPTED, "stopped by Ctrl-C (by SIGTERM: 0); unfinished messages were released"},
    {PAWL_E_IO, "the command could not be started"},
};

const cli_verb cli_verb_work = {
    .name = "work",
    .usage = "--exec COMMAND\n-- COMMAND [ARGUMENT...]",
    .summary = "run a command for each message",
    .about = "The command gets the payload on stdin and, in its environment, PAWL_ID, "
             "PAWL_WORK_ID, PAWL_TOPIC, PAWL_TYPE, PAWL_ATTEMPT, PAWL_MAX_ATTEMPTS, "
             "PAWL_FENCE, PAWL_PRIORITY, PAWL_CORRELATION_ID and PAWL_HEADERS; for a run of a "
             "job also PAWL_JOB, PAWL_RUN and PAWL_SCHEDULED_AT, and the last part of its "
             "stdout is stored as the run's output. Exit status 0: done. 65: failed "
             "permanently. Any other: retried with exponential backoff while attempts remain. "
             "The last part of its stderr is stored as the error.\n"
             "The lease is renewed while the command runs. If the message is cancelled or the "
             "lease is lost, the command is stopped. SIGINT or SIGTERM stops claiming and "
             "lets commands finish during the grace period; then the remaining messages are "
             "released without counting the attempt. A second signal skips the grace period.\n"
             "The worker also creates the runs of due jobs; one worker of a database at a "
             "time does so.\n"
             "On a terminal the last line shows the progress.",
    .examples = "  pawl work --topic mail --exec ./send-mail\n"
                "  pawl work --topic image:4,report:1 -- ./convert --quality 80\n"
                "  pawl work --until-empty --exec 'cat >> inbox.txt'",
    .options = work_options,
    .option_count = PAWLI_COUNT(work_options),
    .defaults = &work_defaults,
    .settings_size = sizeof(work_settings),
    .exits = work_exits,
    .exit_count = PAWLI_COUNT(work_exits),
    .run = run_work,
};

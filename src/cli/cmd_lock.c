/* src/cli/cmd_lock.c - pawl lock: run a command while holding a lease. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <pawl/lease_runner.h>

#include "cli.h"
#include "database.h"
#include "environment.h"
#include "fail.h"
#include "hidden.h"
#include "ward.h"
#include "when.h"

CLI_AUTO_DEFINE(pawl_lease_runner, pawl_lease_runner_free);

typedef struct settings {
    int64_t ttl_ms;
    int64_t wait_ms;
    int64_t grace_ms;
    const char *owner;
} settings;

static const settings defaults = {.ttl_ms = 30 * CLI_SECOND_MS, .grace_ms = 5 * CLI_SECOND_MS};

static pawl_status check(const cli_args *args, pawl_error *err)
{
    const cli_words *words = &args->words;

    if (words->literal_from != 1 || words->count < 2)
        return cli_fail(err, PAWL_E_INVALID,
                        "say which lease, and behind -- the command: 'pawl lock NAME -- COMMAND "
                        "ARGUMENTS'");
    return PAWL_OK;
}

/* The first try does not wait, so that there is something to say to a person who will have to. */
static pawl_status take(const cli_args *args, pawl_store *store, pawl_lease_runner **ret_runner,
                        pawl_error *err)
{
    const settings *own = args->settings;
    const char *name = args->words.items[0];
    pawl_lease_runner_options options = PAWL_LEASE_RUNNER_OPTIONS_INIT;
    char span[CLI_WHEN_SIZE];
    pawl_status st;

    options.ttl_ms = own->ttl_ms;
    options.owner_name = own->owner;
    st = pawl_lease_runner_start(store, name, &options, ret_runner, err);
    if (st != PAWL_E_HELD || own->wait_ms == 0)
        return st;
    if (isatty(STDERR_FILENO) == 1)
        cli_note("%s (waiting for up to %s)", err->message, cli_span_text(own->wait_ms, span));
    options.wait_ms = own->wait_ms;
    return pawl_lease_runner_start(store, name, &options, ret_runner, err);
}

static pawl_status guard(const cli_args *args, pawl_lease_runner *runner, int *ret_exit,
                         pawl_error *err)
{
    const settings *own = args->settings;
    const cli_words *words = &args->words;
    CLI_AUTO_FREE char **argv = cli_alloc(words->count, sizeof *argv);
    char fence[32];
    const cli_variable variables[] = {{"PAWL_FENCE", fence}, {"PAWL_LEASE", words->items[0]}};

    cli_hidden_add(args->config);
    snprintf(fence, sizeof fence, "%" PRId64, pawl_lease_runner_fence(runner));
    memcpy(argv, words->items + 1, (words->count - 1) * sizeof *argv);
    char **environment = cli_environment_with(variables, CLI_COUNT(variables));
    cli_ward ward = {argv, environment, runner, own->grace_ms};
    pawl_status st = cli_ward_run(&ward, ret_exit, err);
    cli_environment_free(environment);
    return st;
}

/* The command has ended: what becomes of the lease is worth a word, not another exit code. */
static void give_back(pawl_lease_runner *runner)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_status st = pawl_lease_runner_stop(runner, &err);

    if (st != PAWL_OK && st != PAWL_E_LOST)
        cli_note("the lease could not be given back, and ends by itself: %s", err.message);
}

static pawl_status run(const cli_args *args, pawl_error *err)
{
    CLI_AUTO(pawl_store) store = NULL;
    CLI_AUTO(pawl_lease_runner) runner = NULL;
    int exit_code = 0;
    pawl_status st = check(args, err);

    if (st == PAWL_OK)
        st = cli_database_open(args, &store, err);
    if (st == PAWL_OK)
        st = take(args, store, &runner, err);
    if (st != PAWL_OK)
        return st;
    st = guard(args, runner, &exit_code, err);
    give_back(runner);
    if (st == PAWL_OK)
        cli_exit_with(exit_code);
    return st;
}

#define FIELD(field) offsetof(settings, field)
static const cli_option options[] = {
    {"ttl", "TIME", "how long the lease lasts if we die; renewed at 60 % (default: 30s)", CLI_SPAN,
     0, FIELD(ttl_ms), PAWL_LEASE_TTL_MIN_MS, PAWL_LEASE_TTL_MAX_MS},
    {"wait", "TIME", "while somebody else holds it, wait so long (default: 0)", CLI_SPAN, 'w',
     FIELD(wait_ms), 0, 7 * CLI_DAY_MS},
    {"grace", "TIME", "when it is lost, between TERM and KILL (default: 5s)", CLI_SPAN, 0,
     FIELD(grace_ms), 0, CLI_HOUR_MS},
    {"owner", "NAME", "who we are, for people (default: host:pid)", CLI_TEXT, 0, FIELD(owner), 0,
     0},
};

static const cli_exit exits[] = {
    {PAWL_E_NOT_FOUND, "the command cannot be run"},
    {PAWL_E_HELD, "somebody else holds the lease; the command was not run"},
    {PAWL_E_LOST, "the lease was lost before the command had ended; it was killed"},
};

const cli_verb cli_verb_lock = {
    .name = "lock",
    .usage = "NAME -- COMMAND ARGUMENTS",
    .summary = "run a command while holding a lease",
    .about =
        "Takes the lease NAME, runs the command, renews the lease while it runs, gives it back "
        "when it has ended, and ends with its exit code (128 and the number if a signal ended it). "
        "The command is in a process group of its own; its environment has PAWL_LEASE and, for "
        "whatever must refuse a holder that was overtaken, the token in PAWL_FENCE. If the lease "
        "is lost, the group gets TERM and after --grace KILL. If pawl itself is killed the command "
        "goes on, without the lease: then only the token protects.",
    .examples = "  pawl lock nightly -- ./report.sh\n"
                "  pawl lock deploy --wait 10m --ttl 1m -- make deploy\n"
                "  pawl lock import -- sh -c 'psql -v fence=$PAWL_FENCE -f import.sql'",
    .options = options,
    .option_count = CLI_COUNT(options),
    .defaults = &defaults,
    .settings_size = sizeof(settings),
    .exits = exits,
    .exit_count = CLI_COUNT(exits),
    .run = run,
};

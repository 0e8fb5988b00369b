/* src/cli/commands/cmd_lock.c - pawl lock: run a command while owning a lease. */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <pawl/lease_runner.h>

#include "child.h"
#include "cli.h"
#include "console.h"
#include "database.h"
#include "environment.h"
#include "fail.h"
#include "units.h"

/* ---- whose terminal it is: ours, or the command's process group ---- */

typedef struct foreground {
    int fd;      /* the controlling terminal; -1: there is none */
    pid_t given; /* the group it was given to; 0: none */
} foreground;

/* SIGTTOU must be blocked from here on: we are in the background when we take the terminal back. */
static void foreground_open(foreground *terminal)
{
    *terminal = (foreground){.fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)};
}

static bool foreground_is_ours(const foreground *terminal)
{
    return terminal->fd >= 0 && tcgetpgrp(terminal->fd) == getpgrp();
}

static void foreground_give(foreground *terminal, pid_t group)
{
    if (foreground_is_ours(terminal) && tcsetpgrp(terminal->fd, group) == 0)
        terminal->given = group;
}

static void foreground_take_back(foreground *terminal)
{
    if (terminal->given != 0 && tcgetpgrp(terminal->fd) == terminal->given)
        (void)!tcsetpgrp(terminal->fd, getpgrp());
    terminal->given = 0;
}

static void foreground_close(foreground *terminal)
{
    foreground_take_back(terminal);
    if (terminal->fd >= 0)
        close(terminal->fd);
    terminal->fd = -1;
}

/* ---- the command ---- */

/* Forwarded to the command's group. */
static const int forwarded[] = {SIGINT,  SIGTERM, SIGHUP,   SIGQUIT, SIGUSR1,
                                SIGUSR2, SIGTSTP, SIGWINCH, SIGCHLD};

typedef struct locked_command {
    pawl_lease_runner *runner;
    cli_child child;
    foreground terminal;
    cli_signals signals;
} locked_command;

/*
 * Stops with the command, as a shell expects of a job. Nothing renews the lease while this process
 * is stopped: if it continues after the lease has expired, the lease is lost.
 */
static void stop_with_command(locked_command *of)
{
    foreground_take_back(&of->terminal);
    raise(SIGSTOP);
    if (pawl_lease_runner_lost(of->runner))
        return;
    foreground_give(&of->terminal, of->child.pid);
    cli_child_signal(&of->child, SIGCONT);
}

/* A command that was stopped because it wants the terminal gets it, if that is ours to give. */
static void check_stopped(locked_command *of)
{
    siginfo_t info = {0};

    if (waitid(P_PID, (id_t)of->child.pid, &info, WSTOPPED | WNOHANG) != 0 || info.si_pid == 0)
        return;
    bool wants = info.si_status == SIGTTIN || info.si_status == SIGTTOU;
    if (wants && foreground_is_ours(&of->terminal)) {
        foreground_give(&of->terminal, of->child.pid);
        cli_child_signal(&of->child, SIGCONT);
    } else if (of->terminal.given != 0) {
        stop_with_command(of);
    }
}

static void forward_signals(void *context)
{
    locked_command *of = context;
    int number;

    while ((number = cli_signals_next(&of->signals)) != 0) {
        if (number == SIGCHLD) {
            check_stopped(of);
            continue;
        }
        cli_child_signal(&of->child, number);
        if (number == SIGTSTP)
            stop_with_command(of);
    }
}

static void say_lease_lost(void *context)
{
    const locked_command *of = context;

    (void)pawl_lease_runner_lost(of->runner);
    cli_note("the lease '%s' is lost; ending the command", pawl_lease_runner_name(of->runner));
}

/* SIGTTOU is not read: it must not stop us when we take the terminal back. */
static pawl_status take_lock_signals(locked_command *of, pawl_error *err)
{
    pawl_status st = cli_signals_open(&of->signals, forwarded, PAWLI_COUNT(forwarded), err);
    sigset_t background;

    sigemptyset(&background);
    sigaddset(&background, SIGTTOU);
    pthread_sigmask(SIG_BLOCK, &background, NULL);
    return st;
}

static pawl_status start_locked(locked_command *of, char *const *argv, char *const *environment,
                                pawl_error *err)
{
    cli_command command = {.argv = argv, .inherit_streams = true, .sigmask = &of->signals.before};
    int problem = cli_child_start(&of->child, &command, environment, NULL, 0);

    if (problem != 0)
        return pawli_fail(err, PAWL_E_NOT_FOUND, "cannot run '%s': %s", argv[0], strerror(problem));
    /* In a pipeline others of our group need the terminal: then it is given when it is wanted. */
    if (isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1)
        foreground_give(&of->terminal, of->child.pid);
    if (of->terminal.given != 0)
        cli_child_signal(&of->child, SIGCONT); /* it may have asked for it before it was given */
    return PAWL_OK;
}

/*
 * Runs it in a process group of its own until it ends. Signals are forwarded to the group; it gets
 * the terminal if we have it. *ret_exit is the command's exit code, or 128 plus the number of its
 * signal. PAWL_E_LOST: the lease was lost before it had ended. PAWL_E_NOT_FOUND: it cannot be run.
 */
static pawl_status supervise_locked(locked_command *of, char *const *argv, char *const *environment,
                                    int64_t grace_ms, int *ret_exit, pawl_error *err)
{
    cli_supervision how = CLI_SUPERVISION_INIT;
    pawl_status st = take_lock_signals(of, err);

    foreground_open(&of->terminal);
    if (st == PAWL_OK)
        st = start_locked(of, argv, environment, err);
    if (st == PAWL_OK) {
        how.cancel_fd = pawl_lease_runner_fd(of->runner);
        how.event_fd = of->signals.fd;
        how.grace_ms = grace_ms;
        how.on_event = forward_signals;
        how.on_cancel = say_lease_lost;
        how.context = of;
        (void)cli_child_supervise(&of->child, &how);
        st = pawl_lease_runner_check(of->runner, err); /* lost in the last moment counts, too */
        *ret_exit = cli_child_exit_status(&of->child);
        if (*ret_exit < 0)
            *ret_exit = 128 + WTERMSIG(of->child.wait_status);
    }
    cli_child_done(&of->child);
    foreground_close(&of->terminal);
    cli_signals_close(&of->signals);
    cli_signals_restore(&of->signals);
    return st;
}

/* ---- the verb ---- */

PAWLI_AUTO_DEFINE(pawl_lease_runner, pawl_lease_runner_free);

typedef struct lock_settings {
    int64_t ttl_ms;
    int64_t wait_ms;
    int64_t grace_ms;
    const char *owner;
} lock_settings;

static const lock_settings lock_defaults = {.grace_ms = CLI_KILL_AFTER_MS};

static pawl_status check_lock_words(const cli_args *args, pawl_error *err)
{
    const cli_words *words = &args->words;

    if (words->literal_from != 1 || words->count < 2)
        return pawli_fail(
            err, PAWL_E_INVALID,
            "no lease or no command given; use 'pawl lock NAME -- COMMAND ARGUMENTS'");
    return PAWL_OK;
}

/* The first try does not wait, so that there is something to say to a person who will have to. */
static pawl_status acquire_lock(const cli_args *args, pawl_store *store,
                                pawl_lease_runner **ret_runner, pawl_error *err)
{
    const lock_settings *own = args->settings;
    const char *name = args->words.items[0];
    pawl_lease_runner_options options = PAWL_LEASE_RUNNER_OPTIONS_INIT;
    pawl_status st;

    if (own->ttl_ms > 0)
        options.ttl_ms = own->ttl_ms;
    options.owner_name = own->owner;
    st = pawl_lease_runner_start(store, name, &options, ret_runner, err);
    if (st != PAWL_E_HELD || own->wait_ms == 0)
        return st;
    if (isatty(STDERR_FILENO) == 1)
        cli_note("%s (waiting for up to %s)", err->message, cli_span_text(own->wait_ms, CLI_ROOM));
    options.wait_ms = own->wait_ms;
    return pawl_lease_runner_start(store, name, &options, ret_runner, err);
}

static pawl_status run_locked(const cli_args *args, pawl_lease_runner *runner, int *ret_exit,
                              pawl_error *err)
{
    const lock_settings *own = args->settings;
    const cli_words *words = &args->words;
    PAWLI_AUTO_FREE char **argv = cli_alloc(words->count, sizeof *argv);
    char fence[32];
    const cli_variable variables[] = {{"PAWL_FENCE", fence}, {"PAWL_LEASE", words->items[0]}};

    cli_hidden_add(args->config);
    snprintf(fence, sizeof fence, "%" PRId64, pawl_lease_runner_fence(runner));
    memcpy(argv, words->items + 1, (words->count - 1) * sizeof *argv);
    char **environment = cli_environment_with(variables, PAWLI_COUNT(variables));
    locked_command of = {.runner = runner, .signals = CLI_SIGNALS_INIT};
    pawl_status st = supervise_locked(&of, argv, environment, own->grace_ms, ret_exit, err);
    cli_environment_free(environment);
    return st;
}

/* The command has ended: what becomes of the lease is worth a word, not another exit code. */
static void release_lock(pawl_lease_runner *runner)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_status st = pawl_lease_runner_stop(runner, &err);

    if (st != PAWL_OK && st != PAWL_E_LOST)
        cli_note("the lease could not be released and will expire: %s", err.message);
}

static pawl_status run_lock(const cli_args *args, pawl_error *err)
{
    PAWLI_AUTO(pawl_store) store = NULL;
    PAWLI_AUTO(pawl_lease_runner) runner = NULL;
    int exit_code = 0;
    pawl_status st = check_lock_words(args, err);

    if (st == PAWL_OK)
        st = cli_database_open(args, &store, err);
    if (st == PAWL_OK)
        st = acquire_lock(args, store, &runner, err);
    if (st != PAWL_OK)
        return st;
    st = run_locked(args, runner, &exit_code, err);
    release_lock(runner);
    if (st == PAWL_OK)
        cli_exit_with(exit_code);
    return st;
}

#define FIELD(field) offsetof(lock_settings, field)
static const cli_option lock_options[] = {
    {"ttl", "TIME", "duration of the lease, renewed after 60 % of it (default: 30s)", CLI_SPAN, 0,
     FIELD(ttl_ms), PAWL_LEASE_TTL_MIN_MS, PAWL_LEASE_TTL_MAX_MS},
    {"wait", "TIME", "wait this long while the lease has another owner (default: 0)", CLI_SPAN, 'w',
     FIELD(wait_ms), 0, 7 * CLI_DAY_MS},
    {"grace", "TIME", "when the lease is lost: time between TERM and KILL (default: 5s)", CLI_SPAN,
     0, FIELD(grace_ms), 0, CLI_HOUR_MS},
    {"owner", "NAME", "display name of the owner (default: host:pid)", CLI_TEXT, 0, FIELD(owner), 0,
     0},
};

static const cli_exit lock_exits[] = {
    {PAWL_E_NOT_FOUND, "the command cannot be run"},
    {PAWL_E_HELD, "the lease has another owner; the command was not run"},
    {PAWL_E_LOST, "the lease was lost before the command had ended; it was killed"},
};

const cli_verb cli_verb_lock = {
    .name = "lock",
    .usage = "NAME -- COMMAND ARGUMENTS",
    .summary = "run a command under a lease",
    .about = "Acquires the lease NAME, runs the command, renews the lease while it runs, "
             "releases it when the command has exited, and exits with the command's exit code "
             "(128 plus the number if a signal killed it). The command runs in its own "
             "process group; its environment has PAWL_LEASE and the fencing token PAWL_FENCE, "
             "by which other systems can reject an owner whose lease has expired. If the "
             "lease is lost, the group gets TERM and, after --grace, KILL. If pawl itself is "
             "killed, the command continues without the lease; then only the token protects.",
    .examples = "  pawl lock nightly -- ./report.sh\n"
                "  pawl lock deploy --wait 10m --ttl 1m -- make deploy\n"
                "  pawl lock import -- sh -c 'psql -v fence=$PAWL_FENCE -f import.sql'",
    .options = lock_options,
    .option_count = PAWLI_COUNT(lock_options),
    .defaults = &lock_defaults,
    .settings_size = sizeof(lock_settings),
    .exits = lock_exits,
    .exit_count = PAWLI_COUNT(lock_exits),
    .run = run_lock,
};

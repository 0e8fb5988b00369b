/* src/cli/ward.c - a command that runs only while a lease is held. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "fail.h"
#include "mono.h"
#include "terminal.h"
#include "ward.h"

/* Passed on to the command's group. */
static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH};

typedef struct guard {
    const cli_ward *ward;
    cli_child child; /* without pipes */
    cli_terminal terminal;
    int signal_fd;
    sigset_t before; /* our signal mask, and the command's */
    bool lost;
    pawl_mono kill_at; /* once it is lost */
} guard;

/* ---- signals ---- */

static pawl_status take_signals(guard *g, pawl_error *err)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t wanted, blocked;

    sigemptyset(&wanted);
    sigaddset(&wanted, SIGCHLD);
    sigaddset(&wanted, SIGTSTP);
    for (size_t i = 0; i < sizeof passed_on / sizeof passed_on[0]; i++)
        sigaddset(&wanted, passed_on[i]);
    blocked = wanted;
    sigaddset(&blocked, SIGTTOU);
    sigaction(SIGCHLD, &action, NULL); /* ignored (it may be inherited) would lose exit statuses */
    sigprocmask(SIG_BLOCK, &blocked, &g->before);
    g->signal_fd = signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC);
    if (g->signal_fd < 0)
        return cli_fail(err, PAWL_E_IO, "cannot receive signals: %s", strerror(errno));
    return PAWL_OK;
}

static void give_signals_back(guard *g)
{
    if (g->signal_fd >= 0)
        close(g->signal_fd);
    sigprocmask(SIG_SETMASK, &g->before, NULL);
}

/*
 * Stop with the command, as a shell expects of a job. While we are stopped nobody renews: whoever
 * wakes us later than the lease lasts finds it lost.
 */
static void stop_together(guard *g)
{
    cli_terminal_take_back(&g->terminal);
    raise(SIGSTOP);
    if (pawl_lease_runner_lost(g->ward->runner))
        return;
    cli_terminal_give(&g->terminal, g->child.pid);
    cli_child_signal(&g->child, SIGCONT);
}

static void read_signals(guard *g)
{
    struct signalfd_siginfo info;

    while (read(g->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            continue;
        cli_child_signal(&g->child, (int)info.ssi_signo);
        if (info.ssi_signo == SIGTSTP)
            stop_together(g);
    }
}

/* A command that was stopped because it wants the terminal gets it, if that is ours to give. */
static void look_for_stop(guard *g)
{
    siginfo_t info = {0};

    if (waitid(P_PID, (id_t)g->child.pid, &info, WSTOPPED | WNOHANG) != 0 || info.si_pid == 0)
        return;
    bool wants = info.si_status == SIGTTIN || info.si_status == SIGTTOU;
    if (wants && cli_terminal_is_ours(&g->terminal)) {
        cli_terminal_give(&g->terminal, g->child.pid);
        cli_child_signal(&g->child, SIGCONT);
    } else if (g->terminal.given != 0) {
        stop_together(g);
    }
}

/* ---- starting ---- */

static int set_attributes(posix_spawnattr_t *attributes, const guard *g)
{
    sigset_t reset;
    int problem;

    sigemptyset(&reset);
    sigaddset(&reset, SIGCHLD);
    problem = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                       POSIX_SPAWN_SETSIGDEF);
    if (problem == 0)
        problem = posix_spawnattr_setpgroup(attributes, 0);
    if (problem == 0)
        problem = posix_spawnattr_setsigmask(attributes, &g->before);
    if (problem == 0)
        problem = posix_spawnattr_setsigdefault(attributes, &reset);
    return problem;
}

static int spawn(guard *g)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int problem = posix_spawn_file_actions_init(&actions);

    if (problem != 0)
        return problem;
    problem = posix_spawnattr_init(&attributes);
    if (problem == 0) {
        problem = set_attributes(&attributes, g);
        if (problem == 0)
            problem = posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
        if (problem == 0)
            problem = posix_spawnp(&g->child.pid, g->ward->argv[0], &actions, &attributes,
                                   g->ward->argv, g->ward->environment);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return problem;
}

static pawl_status start(guard *g, pawl_error *err)
{
    pawl_status st = take_signals(g, err);

    if (st != PAWL_OK)
        return st;
    cli_terminal_open(&g->terminal);
    int problem = spawn(g);
    if (problem != 0)
        return cli_fail(err, PAWL_E_NOT_FOUND, "'%s' cannot be run: %s", g->ward->argv[0],
                        strerror(problem));
    /* In a pipeline others of our group need the terminal: then it is given when it is wanted. */
    if (isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1)
        cli_terminal_give(&g->terminal, g->child.pid);
    if (g->terminal.given != 0)
        cli_child_signal(&g->child, SIGCONT); /* it may have asked for it before it was given */
    return PAWL_OK;
}

/* ---- while it runs ---- */

static void look_at_lease(guard *g)
{
    pawl_lease_runner *runner = g->ward->runner;

    if (!g->lost && pawl_lease_runner_lost(runner)) {
        g->lost = true;
        g->kill_at = cli_mono_after(cli_mono_now(), g->ward->grace_ms);
        cli_note("the lease '%s' is lost; ending the command", pawl_lease_runner_name(runner));
        cli_child_signal(&g->child, SIGTERM);
        cli_child_signal(&g->child, SIGCONT);
    }
    if (g->lost && cli_mono_reached(cli_mono_now(), g->kill_at))
        cli_child_signal(&g->child, SIGKILL);
}

static int next_look_ms(const guard *g)
{
    int64_t left_ms = cli_mono_ms_between(cli_mono_now(), g->kill_at) + 1;

    if (!g->lost)
        return -1;
    return left_ms < 0 ? 100 : (int)(left_ms < 60000 ? left_ms : 60000);
}

static void watch(guard *g)
{
    struct pollfd fds[] = {{.fd = g->signal_fd, .events = POLLIN},
                           {.fd = pawl_lease_runner_fd(g->ward->runner), .events = POLLIN}};

    for (;;) {
        look_at_lease(g);
        if (cli_child_ended(&g->child, g->lost))
            return;
        look_for_stop(g);
        fds[1].fd = g->lost ? -1 : fds[1].fd;
        (void)poll(fds, 2, next_look_ms(g));
        read_signals(g);
    }
}

pawl_status cli_ward_run(const cli_ward *ward, int *ret_exit, pawl_error *err)
{
    guard g = {.ward = ward, .signal_fd = -1, .terminal.fd = -1};
    pawl_status st;

    g.child.stdin_fd = g.child.stderr_fd = -1;
    st = start(&g, err);
    if (st == PAWL_OK) {
        watch(&g);
        st = pawl_lease_runner_check(ward->runner, err); /* lost in the last moment counts, too */
        *ret_exit = WIFSIGNALED(g.child.wait_status) ? 128 + WTERMSIG(g.child.wait_status)
                                                     : WEXITSTATUS(g.child.wait_status);
    }
    cli_terminal_close(&g.terminal);
    give_signals_back(&g);
    return st;
}

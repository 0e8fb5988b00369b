/* src/cli/child.c - a running command: bytes to its stdin, the end of its stderr, its end. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"

/* Bytes of stderr moved in one turn, so that one noisy command does not starve the others. */
#define PUMP_BYTES 65536

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* fds[0] is the reading end. Our end, `ours`, must not block. */
static int make_pipe(int fds[2], int ours)
{
    if (pipe2(fds, O_CLOEXEC) != 0)
        return errno;
    if (fcntl(fds[ours], F_SETFL, O_NONBLOCK) != 0)
        return errno;
    return 0;
}

/* A process group of its own (so that all of it can be ended), and signals as they were before
 * the worker changed them. */
static int set_attributes(posix_spawnattr_t *attributes, const cli_command *command)
{
    sigset_t reset;
    int problem;

    sigemptyset(&reset);
    sigaddset(&reset, SIGPIPE);
    sigaddset(&reset, SIGCHLD);
    problem = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                       POSIX_SPAWN_SETSIGDEF);
    if (problem == 0)
        problem = posix_spawnattr_setpgroup(attributes, 0);
    if (problem == 0)
        problem = posix_spawnattr_setsigmask(attributes, &command->signal_mask);
    if (problem == 0)
        problem = posix_spawnattr_setsigdefault(attributes, &reset);
    return problem;
}

static int spawn(cli_child *child, const cli_command *command, char *const *environment,
                 int stdin_read, int stderr_write)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int problem = posix_spawn_file_actions_init(&actions);

    if (problem != 0)
        return problem;
    problem = posix_spawnattr_init(&attributes);
    if (problem == 0) {
        problem = set_attributes(&attributes, command);
        if (problem == 0 && command->stdout_to_stderr)
            problem = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
        if (problem == 0)
            problem = posix_spawn_file_actions_adddup2(&actions, stdin_read, STDIN_FILENO);
        if (problem == 0)
            problem = posix_spawn_file_actions_adddup2(&actions, stderr_write, STDERR_FILENO);
        if (problem == 0)
            problem = posix_spawnp(&child->pid, command->argv[0], &actions, &attributes,
                                   command->argv, environment);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return problem;
}

int cli_child_start(cli_child *child, const cli_command *command, char *const *environment,
                    const void *input, size_t input_size)
{
    int in[2] = {-1, -1};
    int err[2] = {-1, -1};
    int problem;

    *child = (cli_child){.stdin_fd = -1, .stderr_fd = -1};
    problem = make_pipe(in, 1);
    if (problem == 0)
        problem = make_pipe(err, 0);
    if (problem == 0)
        problem = spawn(child, command, environment, in[0], err[1]);
    close_fd(&in[0]);
    close_fd(&err[1]);
    if (problem != 0) {
        close_fd(&in[1]);
        close_fd(&err[0]);
        child->pid = 0;
        return problem;
    }
    child->stdin_fd = in[1];
    child->stderr_fd = err[0];
    child->input = input;
    child->input_left = input_size;
    cli_child_pump(child);
    return 0;
}

/* EPIPE: it does not want the rest. That is its business; its exit status counts. */
static void pump_input(cli_child *child)
{
    while (child->stdin_fd >= 0 && child->input_left > 0) {
        ssize_t sent = write(child->stdin_fd, child->input, child->input_left);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno == EAGAIN)
            return;
        if (sent < 0)
            break;
        child->input += sent;
        child->input_left -= (size_t)sent;
    }
    close_fd(&child->stdin_fd);
}

static void keep_tail(cli_child *child, const char *bytes, size_t size)
{
    size_t kept;

    if (size >= CLI_CHILD_TAIL) {
        memcpy(child->tail, bytes + size - CLI_CHILD_TAIL, CLI_CHILD_TAIL);
        child->tail_size = CLI_CHILD_TAIL;
        return;
    }
    kept = child->tail_size + size > CLI_CHILD_TAIL ? CLI_CHILD_TAIL - size : child->tail_size;
    memmove(child->tail, child->tail + child->tail_size - kept, kept);
    memcpy(child->tail + kept, bytes, size);
    child->tail_size = kept + size;
}

/* What our stderr does not take is lost; the tail is kept either way. */
static void pass_on(const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t sent = write(STDERR_FILENO, bytes, size);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return;
        bytes += sent;
        size -= (size_t)sent;
    }
}

static void pump_errors(cli_child *child)
{
    char bytes[4096];

    for (size_t moved = 0; child->stderr_fd >= 0 && moved < PUMP_BYTES;) {
        ssize_t got = read(child->stderr_fd, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return;
        if (got <= 0) {
            close_fd(&child->stderr_fd);
            return;
        }
        keep_tail(child, bytes, (size_t)got);
        pass_on(bytes, (size_t)got);
        moved += (size_t)got;
    }
}

void cli_child_pump(cli_child *child)
{
    pump_input(child);
    pump_errors(child);
}

size_t cli_child_poll_fds(const cli_child *child, struct pollfd *ret_fds)
{
    size_t count = 0;

    if (child->stdin_fd >= 0)
        ret_fds[count++] = (struct pollfd){child->stdin_fd, POLLOUT, 0};
    if (child->stderr_fd >= 0)
        ret_fds[count++] = (struct pollfd){child->stderr_fd, POLLIN, 0};
    return count;
}

void cli_child_signal(const cli_child *child, int signal_number)
{
    if (child->pid > 0)
        kill(-child->pid, signal_number);
}

/* WNOWAIT: until it is reaped its id, and so the group's, cannot be anybody else's. */
bool cli_child_ended(cli_child *child, bool sweep)
{
    siginfo_t info = {0};

    if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid == 0)
        return false;
    if (sweep)
        cli_child_signal(child, SIGKILL);
    while (waitpid(child->pid, &child->wait_status, 0) < 0 && errno == EINTR)
        continue;
    pump_errors(child);
    close_fd(&child->stdin_fd);
    close_fd(&child->stderr_fd);
    child->pid = 0;
    return true;
}

/* src/cli/child.c - a running command: bytes to its stdin, what it writes, its end. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "memory.h"
#include "screen.h"
#include "text.h"

/* Bytes moved in one turn, so that a noisy command is told to end in time. */
#define PUMP_BYTES 65536
/* What is kept of its stderr. */
#define SAID_BYTES 2048

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

/* The child's ends of the pipes; -1: there is none. */
typedef struct ends {
    int in;
    int out;
    int err;
} ends;

static int set_streams(posix_spawn_file_actions_t *actions, const cli_command *command,
                       const ends *theirs)
{
    int problem = 0;

    if (command->stdout_to_stderr)
        problem = posix_spawn_file_actions_adddup2(actions, STDERR_FILENO, STDOUT_FILENO);
    if (problem == 0 && theirs->out >= 0)
        problem = posix_spawn_file_actions_adddup2(actions, theirs->out, STDOUT_FILENO);
    if (problem == 0)
        problem = posix_spawn_file_actions_adddup2(actions, theirs->in, STDIN_FILENO);
    if (problem == 0)
        problem = posix_spawn_file_actions_adddup2(actions, theirs->err, STDERR_FILENO);
    if (problem == 0) /* what the shell left open for us, too */
        problem = posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
    return problem;
}

static int spawn(cli_child *child, const cli_command *command, char *const *environment,
                 const ends *theirs)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int problem = posix_spawn_file_actions_init(&actions);

    if (problem != 0)
        return problem;
    problem = posix_spawnattr_init(&attributes);
    if (problem == 0) {
        problem = set_attributes(&attributes, command);
        if (problem == 0)
            problem = set_streams(&actions, command, theirs);
        if (problem == 0)
            problem = posix_spawnp(&child->pid, command->argv[0], &actions, &attributes,
                                   command->argv, environment);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    if (problem != 0)
        child->pid = 0;
    return problem;
}

/* Needs Linux 5.3. Without it nobody would tell us when the child ends. */
static int watch_end(cli_child *child)
{
    int problem;

    child->end_fd = (int)syscall(SYS_pidfd_open, child->pid, 0);
    if (child->end_fd >= 0)
        return 0;
    problem = errno;
    cli_child_signal(child, SIGKILL);
    while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    child->pid = 0;
    return problem;
}

static void close_all(cli_child *child)
{
    close_fd(&child->stdin_fd);
    close_fd(&child->stdout_fd);
    close_fd(&child->stderr_fd);
    close_fd(&child->end_fd);
}

int cli_child_start(cli_child *child, const cli_command *command, char *const *environment,
                    const void *input, size_t input_size)
{
    int in[2] = {-1, -1};
    int out[2] = {-1, -1};
    int err[2] = {-1, -1};
    int problem = make_pipe(in, 1);

    if (problem == 0 &&
        (command->stdout_by_us || command->keep_output > 0 || command->keep_answer > 0))
        problem = make_pipe(out, 0);
    if (problem == 0)
        problem = make_pipe(err, 0);
    *child = (cli_child){.stdin_fd = in[1], .stdout_fd = out[0], .stderr_fd = err[0], .end_fd = -1};
    child->stdout_to = command->stdout_to_stderr ? STDERR_FILENO : STDOUT_FILENO;
    child->said.limit = SAID_BYTES;
    child->output.limit = command->keep_output;
    child->answer_max = command->keep_answer;
    if (problem == 0)
        problem = spawn(child, command, environment, &(ends){in[0], out[1], err[1]});
    if (problem == 0)
        problem = watch_end(child);
    close_fd(&in[0]);
    close_fd(&out[1]);
    close_fd(&err[1]);
    if (problem != 0) {
        close_all(child);
        return problem;
    }
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

static void keep_answer(cli_child *child, const char *bytes, size_t size)
{
    if (child->answer_size + size > child->answer_max) {
        child->answer_lost = true;
        return;
    }
    child->answer = cli_grow(child->answer, child->answer_size + size, 1);
    memcpy(child->answer + child->answer_size, bytes, size);
    child->answer_size += size;
}

/* From one of its pipes to our own stream `to`, or to where it is kept. */
static void pump_output(cli_child *child, int *from, cli_tail *tail, int to)
{
    char bytes[4096];

    for (size_t moved = 0; *from >= 0 && moved < PUMP_BYTES;) {
        ssize_t got = read(*from, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return;
        if (got <= 0) {
            close_fd(from);
            return;
        }
        cli_tail_add(tail, bytes, (size_t)got);
        if (child->answer_max == 0)
            cli_screen_pass(to, bytes, (size_t)got);
        else if (tail == &child->output)
            keep_answer(child, bytes, (size_t)got);
        moved += (size_t)got;
    }
}

static void pump_outputs(cli_child *child)
{
    pump_output(child, &child->stdout_fd, &child->output, child->stdout_to);
    pump_output(child, &child->stderr_fd, &child->said, STDERR_FILENO);
}

void cli_child_pump(cli_child *child)
{
    pump_input(child);
    pump_outputs(child);
}

size_t cli_child_poll_fds(const cli_child *child, struct pollfd *ret_fds)
{
    size_t count = 0;

    if (child->stdin_fd >= 0)
        ret_fds[count++] = (struct pollfd){child->stdin_fd, POLLOUT, 0};
    if (child->stdout_fd >= 0)
        ret_fds[count++] = (struct pollfd){child->stdout_fd, POLLIN, 0};
    if (child->stderr_fd >= 0)
        ret_fds[count++] = (struct pollfd){child->stderr_fd, POLLIN, 0};
    if (child->end_fd >= 0)
        ret_fds[count++] = (struct pollfd){child->end_fd, POLLIN, 0};
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
    pump_outputs(child);
    close_all(child);
    child->pid = 0;
    return true;
}

void cli_child_done(cli_child *child)
{
    cli_tail_done(&child->said);
    cli_tail_done(&child->output);
    free(child->answer);
    child->answer = NULL;
    child->answer_size = 0;
}

/* The end of its stderr as text, or NULL if there is none. */
static char *last_words(const cli_child *child)
{
    size_t size;
    const char *start = cli_tail_text(&child->said, &size);

    while (size > 0 && isspace((unsigned char)start[size - 1]))
        size--;
    while (size > 0 && isspace((unsigned char)*start)) {
        start++;
        size--;
    }
    return size > 0 ? cli_text_clean(start, size, false) : NULL;
}

static char *describe_end(int wait_status)
{
    if (WIFSIGNALED(wait_status))
        return cli_print("killed by signal %d", WTERMSIG(wait_status));
    return cli_print("exit status %d", WEXITSTATUS(wait_status));
}

char *cli_child_complaint(const cli_child *child)
{
    char *words = last_words(child);

    return words ? words : describe_end(child->wait_status);
}

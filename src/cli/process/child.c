/* src/cli/process/child.c - a command as a child process: its streams, its supervision, its end. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "alloc.h"
#include "terminal_line.h"
#include "terminal_text.h"
#include "platform.h"

/* Bytes moved before other events are checked, so that a noisy command is stopped in time. */
#define PUMP_BYTES 65536
#define STDERR_TAIL_BYTES 2048

/* ---- the end of an output ---- */

static void tail_buffer_add(cli_tail_buffer *tail, const char *bytes, size_t size)
{
    size_t kept;

    if (size == 0 || tail->limit == 0)
        return;
    if (!tail->bytes)
        tail->bytes = cli_alloc(tail->limit, 1);
    if (size > tail->limit) {
        bytes += size - tail->limit;
        size = tail->limit;
    }
    kept = tail->size < tail->limit - size ? tail->size : tail->limit - size;
    memmove(tail->bytes, tail->bytes + tail->size - kept, kept);
    memcpy(tail->bytes + kept, bytes, size);
    tail->size = kept + size;
}

static const char *tail_buffer_text(const cli_tail_buffer *tail, size_t *ret_size)
{
    const char *start = tail->bytes ? tail->bytes : "";
    size_t size = tail->size;

    while (size > 0 && tail->size == tail->limit && ((unsigned char)*start & 0xc0) == 0x80) {
        start++;
        size--;
    }
    *ret_size = size;
    return start;
}

static void tail_buffer_done(cli_tail_buffer *tail)
{
    free(tail->bytes);
    *tail = (cli_tail_buffer){NULL, 0, 0};
}

/* ---- starting ---- */

static void child_close_fd(int *fd)
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
static int set_spawn_attributes(posix_spawnattr_t *attributes, const cli_command *command)
{
    sigset_t reset;
    int problem;

    sigemptyset(&reset);
    sigaddset(&reset, SIGCHLD);
    if (!command->inherit_streams) /* we ignore it where there are pipes */
        sigaddset(&reset, SIGPIPE);
    problem = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                       POSIX_SPAWN_SETSIGDEF);
    if (problem == 0)
        problem = posix_spawnattr_setpgroup(attributes, 0);
    if (problem == 0)
        problem = posix_spawnattr_setsigmask(attributes, command->sigmask);
    if (problem == 0)
        problem = posix_spawnattr_setsigdefault(attributes, &reset);
    return problem;
}

/* The child's ends of the pipes; -1: there is none. */
typedef struct pipe_ends {
    int in;
    int out;
    int err;
} pipe_ends;

static int set_spawn_streams(posix_spawn_file_actions_t *actions, const cli_command *command,
                             const pipe_ends *theirs)
{
    int problem = 0;

    if (command->stdout_to_stderr)
        problem = posix_spawn_file_actions_adddup2(actions, STDERR_FILENO, STDOUT_FILENO);
    if (problem == 0 && theirs->out >= 0)
        problem = posix_spawn_file_actions_adddup2(actions, theirs->out, STDOUT_FILENO);
    if (problem == 0 && theirs->in >= 0)
        problem = posix_spawn_file_actions_adddup2(actions, theirs->in, STDIN_FILENO);
    if (problem == 0 && theirs->err >= 0)
        problem = posix_spawn_file_actions_adddup2(actions, theirs->err, STDERR_FILENO);
    if (problem == 0) /* what the shell left open for us, too */
        problem = posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
    return problem;
}

static int spawn_child(cli_child *child, const cli_command *command, char *const *environment,
                       const pipe_ends *theirs)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int problem = posix_spawn_file_actions_init(&actions);

    if (problem != 0)
        return problem;
    problem = posix_spawnattr_init(&attributes);
    if (problem == 0) {
        problem = set_spawn_attributes(&attributes, command);
        if (problem == 0)
            problem = set_spawn_streams(&actions, command, theirs);
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

/* Needs Linux 5.3. Without it there is no event when the child ends. */
static int open_pidfd(cli_child *child)
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

static void close_child_fds(cli_child *child)
{
    child_close_fd(&child->stdin_fd);
    child_close_fd(&child->stdout_fd);
    child_close_fd(&child->stderr_fd);
    child_close_fd(&child->end_fd);
}

/* Pipes for the streams that the child does not inherit. */
static int make_pipes(const cli_command *command, int in[2], int out[2], int err[2])
{
    bool by_us = command->stdout_by_us || command->keep_output > 0 || command->keep_response > 0;
    int problem = command->inherit_streams ? 0 : make_pipe(in, 1);

    if (problem == 0 && by_us)
        problem = make_pipe(out, 0);
    if (problem == 0 && !command->inherit_streams)
        problem = make_pipe(err, 0);
    return problem;
}

int cli_child_start(cli_child *child, const cli_command *command, char *const *environment,
                    const void *input, size_t input_size)
{
    int in[2] = {-1, -1};
    int out[2] = {-1, -1};
    int err[2] = {-1, -1};
    int problem = make_pipes(command, in, out, err);

    *child = (cli_child){.stdin_fd = in[1], .stdout_fd = out[0], .stderr_fd = err[0], .end_fd = -1};
    child->stdout_to = command->stdout_to_stderr ? STDERR_FILENO : STDOUT_FILENO;
    child->stderr_tail.limit = STDERR_TAIL_BYTES;
    child->stdout_tail.limit = command->keep_output;
    child->response_max = command->keep_response;
    child->input = input;
    child->input_left = input_size;
    if (problem == 0)
        problem = spawn_child(child, command, environment, &(pipe_ends){in[0], out[1], err[1]});
    if (problem == 0)
        problem = open_pidfd(child);
    child_close_fd(&in[0]);
    child_close_fd(&out[1]);
    child_close_fd(&err[1]);
    if (problem != 0)
        close_child_fds(child);
    return problem;
}

/* ---- its streams ---- */

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
    child_close_fd(&child->stdin_fd);
}

static void keep_response(cli_child *child, const char *bytes, size_t size)
{
    if (child->response_size + size > child->response_max) {
        child->response_too_long = true;
        return;
    }
    child->response = cli_grow(child->response, child->response_size + size, 1);
    memcpy(child->response + child->response_size, bytes, size);
    child->response_size += size;
}

/* From one of its pipes to our own stream `to`, or to where it is kept. */
static void pump_output(cli_child *child, int *from, cli_tail_buffer *tail, int to)
{
    char bytes[4096];

    for (size_t moved = 0; *from >= 0 && moved < PUMP_BYTES;) {
        ssize_t got = read(*from, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return;
        if (got <= 0) {
            child_close_fd(from);
            return;
        }
        tail_buffer_add(tail, bytes, (size_t)got);
        if (child->response_max == 0)
            cli_terminal_line_pass(to, bytes, (size_t)got);
        else if (tail == &child->stdout_tail)
            keep_response(child, bytes, (size_t)got);
        moved += (size_t)got;
    }
}

static void pump_outputs(cli_child *child)
{
    pump_output(child, &child->stdout_fd, &child->stdout_tail, child->stdout_to);
    pump_output(child, &child->stderr_fd, &child->stderr_tail, STDERR_FILENO);
}

/* Without waiting. */
static void pump_child(cli_child *child)
{
    pump_input(child);
    pump_outputs(child);
}

/* ---- supervision ---- */

void cli_child_signal(const cli_child *child, int signal_number)
{
    if (child->pid > 0)
        kill(-child->pid, signal_number);
}

/*
 * With `sweep` the rest of its process group is killed. WNOWAIT: until it is reaped its id, and so
 * the group's, cannot be anybody else's.
 */
static bool child_has_ended(cli_child *child, bool sweep)
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
    close_child_fds(child);
    child->pid = 0;
    return true;
}

typedef struct supervision {
    const cli_supervision *how;
    cli_child *child;
    pawl_mono timeout_at;
    cli_stop stopped;
    pawl_mono kill_at;
    bool killed; /* kill_fd was readable: it stays so */
} supervision;

static pawl_mono mono_from_now(int64_t ms)
{
    return pawli_mono_after(pawli_mono_now(), ms * 1000);
}

/* SIGTERM to its process group now, SIGKILL later. SIGCONT: a stopped one must learn of it. */
static void stop_child(supervision *of, cli_stop why)
{
    if (of->stopped != CLI_STOP_NONE)
        return;
    of->stopped = why;
    of->kill_at = mono_from_now(of->how->grace_ms);
    if (why == CLI_STOP_CANCEL && of->how->on_cancel)
        of->how->on_cancel(of->how->context);
    cli_child_signal(of->child, SIGTERM);
    cli_child_signal(of->child, SIGCONT);
}

static int supervision_wait_ms(const supervision *of)
{
    pawl_mono until = of->stopped == CLI_STOP_NONE ? of->timeout_at : of->kill_at;

    return until.us == INT64_MAX ? -1 : pawli_mono_left_ms(until);
}

static void wait_for_child(supervision *of)
{
    const cli_supervision *how = of->how;
    cli_child *child = of->child;
    struct pollfd fds[] = {
        {of->killed ? -1 : how->kill_fd, POLLIN, 0},
        {of->stopped == CLI_STOP_NONE ? how->cancel_fd : -1, POLLIN, 0},
        {how->event_fd, POLLIN, 0},
        {child->stdin_fd, POLLOUT, 0},
        {child->stdout_fd, POLLIN, 0},
        {child->stderr_fd, POLLIN, 0},
        {child->end_fd, POLLIN, 0},
    };

    if (poll(fds, PAWLI_COUNT(fds), supervision_wait_ms(of)) < 0)
        return;
    if (fds[0].revents) {
        of->killed = true;
        stop_child(of, CLI_STOP_NOW);
        of->kill_at = pawli_mono_now();
    }
    if (fds[1].revents)
        stop_child(of, CLI_STOP_CANCEL);
    if (fds[2].revents)
        how->on_event(how->context);
}

static void check_deadlines(supervision *of)
{
    if (pawli_mono_passed(of->timeout_at))
        stop_child(of, CLI_STOP_TIMEOUT);
    if (pawli_mono_passed(of->kill_at)) {
        cli_child_signal(of->child, SIGKILL);
        of->kill_at = mono_from_now(1000);
    }
}

cli_stop cli_child_supervise(cli_child *child, const cli_supervision *how)
{
    supervision of = {.how = how, .child = child};

    of.timeout_at = how->timeout_ms > 0 ? mono_from_now(how->timeout_ms) : (pawl_mono){INT64_MAX};
    of.kill_at = (pawl_mono){INT64_MAX};
    pump_child(child);
    while (!child_has_ended(child, of.stopped != CLI_STOP_NONE)) {
        wait_for_child(&of);
        check_deadlines(&of);
        pump_child(child);
    }
    return of.stopped;
}

/* ---- its end ---- */

int cli_child_exit_status(const cli_child *child)
{
    return WIFEXITED(child->wait_status) ? WEXITSTATUS(child->wait_status) : -1;
}

const char *cli_child_output(const cli_child *child, size_t *ret_size)
{
    return tail_buffer_text(&child->stdout_tail, ret_size);
}

void cli_child_done(cli_child *child)
{
    tail_buffer_done(&child->stderr_tail);
    tail_buffer_done(&child->stdout_tail);
    free(child->response);
    child->response = NULL;
    child->response_size = 0;
}

/* The end of its stderr as text, or NULL if there is none. */
static char *stderr_text(const cli_child *child)
{
    size_t size;
    const char *start = tail_buffer_text(&child->stderr_tail, &size);

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

char *cli_child_error(const cli_child *child)
{
    char *words = stderr_text(child);

    return words ? words : describe_end(child->wait_status);
}

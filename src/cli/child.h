/* src/cli/child.h - a child process: its input, its output and its exit status. */
#ifndef CLI_CHILD_H
#define CLI_CHILD_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "tail.h"

#define CLI_CHILD_FDS 4

typedef struct cli_child {
    pid_t pid;    /* leader of its own process group; 0: not running */
    int stdin_fd; /* our ends of the pipes, non-blocking; -1: closed */
    int stderr_fd;
    int stdout_fd;     /* -1: it inherits ours */
    int stdout_to;     /* where its stdout is forwarded to */
    int end_fd;        /* readable when it has ended */
    const char *input; /* borrowed */
    size_t input_left;
    cli_tail said;   /* the end of its stderr */
    cli_tail output; /* the end of its stdout, if that is piped through us */
    int wait_status; /* set when it has ended */
    char *answer;    /* its whole stdout, if that is kept; freed by cli_child_done */
    size_t answer_size;
    size_t answer_max; /* 0: it is not kept */
    bool answer_lost;  /* the output was longer */
} cli_child;

typedef struct cli_command {
    char *const *argv;     /* argv[0] is searched in PATH */
    bool stdout_to_stderr; /* redirect its stdout to stderr */
    bool stdout_by_us;  /* pipe its stdout through us, because the terminal shows a progress line */
    size_t keep_output; /* keep this many last bytes of its stdout, which is then piped through us;
                           0: none */
    size_t keep_answer; /* keep up to this many bytes of its stdout, and forward nothing */
    sigset_t signal_mask; /* the child's signal mask */
} cli_command;

/*
 * Starts it with `input` (borrowed until it ends) as its stdin. Returns an errno, 0 on success. Any
 * thread: whatever signals that thread blocks, the child starts with the command's mask.
 */
int cli_child_start(cli_child *child, const cli_command *command, char *const *environment,
                    const void *input, size_t input_size);
/* Moves data without waiting; its output is forwarded to our own streams. */
void cli_child_pump(cli_child *child);
/* Fills up to CLI_CHILD_FDS elements with the descriptors to poll; returns how many. */
size_t cli_child_poll_fds(const cli_child *child, struct pollfd *ret_fds);
/* Sends a signal to the whole process group. */
void cli_child_signal(const cli_child *child, int signal_number);
/*
 * Whether it has ended; then everything is closed and wait_status is set. With `sweep` the rest of
 * its process group is killed. Does not wait.
 */
bool cli_child_ended(cli_child *child, bool sweep);
/*
 * After it has ended: the end of its stderr, or otherwise how it ended: "exit status 1". malloc'ed.
 */
char *cli_child_complaint(const cli_child *child);
/* After it has ended: frees what was kept. */
void cli_child_done(cli_child *child);

#endif

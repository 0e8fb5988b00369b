/* src/cli/child.h - a running command: bytes to its stdin, what it writes, its end. */
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
    int stdout_fd;     /* -1: it has ours */
    int stdout_to;     /* where what it writes there goes on to */
    int end_fd;        /* readable when it has ended */
    const char *input; /* borrowed */
    size_t input_left;
    cli_tail said;   /* the end of its stderr */
    cli_tail output; /* the end of its stdout, if it comes through us */
    int wait_status; /* when it has ended */
    char *answer;    /* all that it wrote to stdout, if that is kept; freed by cli_child_done */
    size_t answer_size;
    size_t answer_max; /* 0: it is not kept */
    bool answer_lost;  /* there was more */
} cli_child;

typedef struct cli_command {
    char *const *argv;     /* argv[0] is looked for in PATH */
    bool stdout_to_stderr; /* keep our stdout for ourselves */
    bool stdout_by_us;     /* its stdout comes through us: the terminal has a line of ours */
    size_t keep_output;    /* so many bytes of its stdout, which then comes through us; 0: none */
    size_t keep_answer;    /* keep up to so many bytes of its stdout, and pass nothing on */
    sigset_t signal_mask;  /* what the child starts with */
} cli_command;

/* Starts it with `input` (borrowed until it ends) for its stdin. An errno, 0 on success. Any
 * thread: whatever signals that one blocks, the child starts with the command's mask. */
int cli_child_start(cli_child *child, const cli_command *command, char *const *environment,
                    const void *input, size_t input_size);
/* Move what can be moved without waiting; what it writes goes on to our own streams. */
void cli_child_pump(cli_child *child);
/* Fills up to CLI_CHILD_FDS places with what to wait for; answers how many. */
size_t cli_child_poll_fds(const cli_child *child, struct pollfd *ret_fds);
/* To the whole process group. */
void cli_child_signal(const cli_child *child, int signal_number);
/* Whether it has ended; then everything is closed and wait_status is set. With `sweep` what is
 * left of its process group is killed. Does not wait. */
bool cli_child_ended(cli_child *child, bool sweep);
/* After it has ended: the end of its stderr, or else how it ended: "exit status 1". malloc'ed. */
char *cli_child_complaint(const cli_child *child);
/* After it has ended: forget what was kept. */
void cli_child_done(cli_child *child);

#endif

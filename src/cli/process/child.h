/*
 * src/cli/process/child.h - a command as a child process: its streams, its supervision, its exit
 * status. Of `pawl work`, of [receive] command and of `pawl lock`.
 */
#ifndef CLI_CHILD_H
#define CLI_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "signals.h"

/* Exit status of a command that says: never try this message again (EX_DATAERR). */
#define CLI_EXIT_FAIL 65
/* From SIGTERM to SIGKILL, unless an option says otherwise. */
#define CLI_KILL_AFTER_MS 5000

typedef struct cli_command {
    char *const *argv;       /* argv[0] is searched in PATH */
    bool inherit_streams;    /* it has our own streams; otherwise pipes */
    bool stdout_to_stderr;   /* redirect its stdout to stderr */
    bool stdout_by_us;       /* pipe stdout through us: the terminal shows a progress line */
    size_t keep_output;      /* keep this many last bytes of its stdout; 0: none */
    size_t keep_response;    /* keep up to this many bytes of its stdout, and forward nothing */
    const sigset_t *sigmask; /* the child's signal mask */
} cli_command;

/* The last bytes of a long output. */
typedef struct cli_tail_buffer {
    char *bytes; /* NULL while there are none */
    size_t size;
    size_t limit; /* 0: nothing is kept */
} cli_tail_buffer;

typedef struct cli_child {
    pid_t pid;    /* leader of its own process group; 0: not running */
    int stdin_fd; /* our ends of the pipes, non-blocking; -1: closed */
    int stderr_fd;
    int stdout_fd;     /* -1: it inherits ours */
    int stdout_to;     /* where its stdout is forwarded to */
    int end_fd;        /* readable when it has ended */
    const char *input; /* borrowed */
    size_t input_left;
    cli_tail_buffer stderr_tail;
    cli_tail_buffer stdout_tail;
    int wait_status; /* set when it has ended */
    char *response;  /* its whole stdout, if that is kept; freed by cli_child_done */
    size_t response_size;
    size_t response_max;    /* 0: it is not kept */
    bool response_too_long; /* the output was longer */
} cli_child;

/*
 * Starts it with `input` (borrowed until it ends) as its stdin. Returns an errno, 0 on success. Any
 * thread: whatever signals that thread blocks, the child starts with the command's mask.
 */
int cli_child_start(cli_child *child, const cli_command *command, char *const *environment,
                    const void *input, size_t input_size);

/* Why a command was stopped: the first reason. */
typedef enum cli_stop {
    CLI_STOP_NONE,
    CLI_STOP_TIMEOUT, /* it ran for too long */
    CLI_STOP_CANCEL,  /* cancel_fd */
    CLI_STOP_NOW      /* kill_fd */
} cli_stop;

typedef struct cli_supervision {
    int cancel_fd;      /* once readable: SIGTERM, and SIGKILL after the grace period; -1: never */
    int kill_fd;        /* once readable: SIGTERM and SIGKILL; -1: never */
    int event_fd;       /* whenever it is readable, on_event is called; -1: never */
    int64_t timeout_ms; /* 0: none */
    int64_t grace_ms;   /* from SIGTERM to SIGKILL */
    void (*on_event)(void *context);
    void (*on_cancel)(void *context); /* before SIGTERM; NULL: nothing */
    void *context;
} cli_supervision;
#define CLI_SUPERVISION_INIT                                                                       \
    {                                                                                              \
        .cancel_fd = -1, .kill_fd = -1, .event_fd = -1, .grace_ms = CLI_KILL_AFTER_MS              \
    }

/*
 * Moves its data until it has ended, and ends it if it has to. Then wait_status is set; if it was
 * stopped, the rest of its process group is killed, too.
 */
cli_stop cli_child_supervise(cli_child *child, const cli_supervision *how);

/* Sends a signal to the whole process group. */
void cli_child_signal(const cli_child *child, int signal_number);
/* After it has ended: its exit status; -1: a signal ended it. */
int cli_child_exit_status(const cli_child *child);
/* After it has ended: the last bytes of its stdout that were kept. Borrowed. */
const char *cli_child_output(const cli_child *child, size_t *ret_size);
/*
 * After it has ended: the end of its stderr, or otherwise how it ended: "exit status 1". malloc'ed.
 */
char *cli_child_error(const cli_child *child);
/* After it has ended, or did not start: frees what was kept. */
void cli_child_done(cli_child *child);

#endif

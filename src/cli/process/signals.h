/*
 * src/cli/process/signals.h - signals that are read like input, in a loop, instead of being
 * delivered: of `pawl work`, `pawl lock` and `pawl serve`.
 */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include <pawl/error.h>

typedef struct cli_signals {
    int fd;          /* readable while a signal is pending */
    sigset_t before; /* the mask before: commands start with it */
} cli_signals;
#define CLI_SIGNALS_INIT                                                                           \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/*
 * From now on these signals are read. Call it before any other thread is started. SIGCHLD becomes
 * the default: ignored (which is inherited), it would lose exit statuses.
 */
pawl_status cli_signals_open(cli_signals *signals, const int *numbers, size_t count,
                             pawl_error *err);
/* A write to a closed pipe or socket is an error (EPIPE), not the end of the program. */
void cli_signals_ignore_pipe(void);
/* The next pending signal; 0: none. */
int cli_signals_next(const cli_signals *signals);
/*
 * Waits until a signal is pending, `fd` (-1: none) is readable, or the time is over (-1: never),
 * and returns the signal; 0: it was something else.
 */
int cli_signals_wait(const cli_signals *signals, int fd, int timeout_ms);
/* Signals are delivered again, also those that are pending. */
void cli_signals_restore(const cli_signals *signals);
void cli_signals_close(cli_signals *signals);

#endif

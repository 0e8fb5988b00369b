/* src/cli/process/signals.c - signals that are read like input, in a loop. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "fail.h"
#include "signals.h"

pawl_status cli_signals_open(cli_signals *signals, const int *numbers, size_t count,
                             pawl_error *err)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t wanted;

    sigemptyset(&wanted);
    for (size_t i = 0; i < count; i++)
        sigaddset(&wanted, numbers[i]);
    sigaction(SIGCHLD, &usual, NULL);
    pthread_sigmask(SIG_BLOCK, &wanted, &signals->before);
    signals->fd = signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC);
    if (signals->fd < 0)
        return pawli_fail(err, PAWL_E_IO, "cannot receive signals: %s", strerror(errno));
    return PAWL_OK;
}

void cli_signals_ignore_pipe(void)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};

    sigaction(SIGPIPE, &ignore, NULL);
}

int cli_signals_next(const cli_signals *signals)
{
    struct signalfd_siginfo info;

    return read(signals->fd, &info, sizeof info) == (ssize_t)sizeof info ? (int)info.ssi_signo : 0;
}

int cli_signals_wait(const cli_signals *signals, int fd, int timeout_ms)
{
    struct pollfd fds[] = {{signals->fd, POLLIN, 0}, {fd, POLLIN, 0}};

    (void)poll(fds, 2, timeout_ms);
    return cli_signals_next(signals);
}

void cli_signals_restore(const cli_signals *signals)
{
    pthread_sigmask(SIG_SETMASK, &signals->before, NULL);
}

void cli_signals_close(cli_signals *signals)
{
    if (signals->fd >= 0)
        close(signals->fd);
    signals->fd = -1;
}

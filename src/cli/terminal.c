/* src/cli/terminal.c - whose turn it is at the terminal: ours, or a command's process group. */
#include <fcntl.h>
#include <unistd.h>

#include "terminal.h"

void cli_terminal_open(cli_terminal *terminal)
{
    *terminal = (cli_terminal){.fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)};
}

bool cli_terminal_is_ours(const cli_terminal *terminal)
{
    return terminal->fd >= 0 && tcgetpgrp(terminal->fd) == getpgrp();
}

void cli_terminal_give(cli_terminal *terminal, pid_t group)
{
    if (cli_terminal_is_ours(terminal) && tcsetpgrp(terminal->fd, group) == 0)
        terminal->given = group;
}

void cli_terminal_take_back(cli_terminal *terminal)
{
    if (terminal->given != 0 && tcgetpgrp(terminal->fd) == terminal->given)
        (void)!tcsetpgrp(terminal->fd, getpgrp());
    terminal->given = 0;
}

void cli_terminal_close(cli_terminal *terminal)
{
    cli_terminal_take_back(terminal);
    if (terminal->fd >= 0)
        close(terminal->fd);
    terminal->fd = -1;
}

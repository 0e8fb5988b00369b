/* src/cli/terminal.h - the foreground process group of the terminal: ours, or a command's. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct cli_terminal {
    int fd;      /* the controlling terminal; -1: there is none */
    pid_t given; /* the group it was given to; 0: none */
} cli_terminal;

/*
 * SIGTTOU must be blocked from here on, because the process is in the background when it takes the
 * terminal back.
 */
void cli_terminal_open(cli_terminal *terminal);
/* Whether we are in the foreground. */
bool cli_terminal_is_ours(const cli_terminal *terminal);
/* No-op unless we are in the foreground. */
void cli_terminal_give(cli_terminal *terminal, pid_t group);
/* Takes it back if it was given, and the group still has it. */
void cli_terminal_take_back(cli_terminal *terminal);
void cli_terminal_close(cli_terminal *terminal);

#endif

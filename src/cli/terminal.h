/* src/cli/terminal.h - whose turn it is at the terminal: ours, or a command's process group. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct cli_terminal {
    int fd;      /* the controlling terminal; -1: there is none */
    pid_t given; /* the group that has it from us; 0: none */
} cli_terminal;

/* SIGTTOU must be blocked from here on: who takes the terminal back is in the background. */
void cli_terminal_open(cli_terminal *terminal);
/* Whether we are in the foreground. */
bool cli_terminal_is_ours(const cli_terminal *terminal);
/* Nothing happens unless it is ours to give. */
void cli_terminal_give(cli_terminal *terminal, pid_t group);
/* If it was given, and the group still has it. */
void cli_terminal_take_back(cli_terminal *terminal);
void cli_terminal_close(cli_terminal *terminal);

#endif

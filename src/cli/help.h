/* src/cli/help.h - help text, generated from the tables of options. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include <stdio.h>

#include "cli.h"

/* `verb` NULL: the program. */
void cli_help_print(const cli_verb *verb, FILE *stream);

#endif

/* src/cli/environment.h - the environment of a command: variables about its message or its lease.
 */
#ifndef CLI_ENVIRONMENT_H
#define CLI_ENVIRONMENT_H

#include <pawl/message.h>

/*
 * Our own environment without variables that contain a secret (hidden.h), plus the message's
 * PAWL_... variables; freed by cli_environment_free.
 */
char **cli_environment_new(const pawl_message *message);
typedef struct cli_variable {
    const char *name;
    const char *value;
} cli_variable;
/* The same with these variables. */
char **cli_environment_with(const cli_variable *variables, size_t count);
void cli_environment_free(char **environment);

#endif

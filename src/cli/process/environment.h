/* src/cli/process/environment.h - the environment of a command: variables about its message or its
 * lease, none with a secret. */
#ifndef CLI_ENVIRONMENT_H
#define CLI_ENVIRONMENT_H

#include <stdbool.h>

#include <pawl/message.h>

#include "config.h"

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

/*
 * Hides from every command that is started later:
 * - each variable from which a secret of the configuration is read (env:NAME);
 * - PGPASSWORD, from which libpq reads the database's password;
 * - each variable whose name begins with PAWL_ and whose value is a URL or a connection string with
 *   a password, and each one that contains the database's URL if that has a password.
 *
 * May be called again, for example when the configuration is reloaded: names are only added, once
 * each, so there are never more than the variables that the configurations have named. Any thread.
 */
void cli_hidden_add(const cli_config *config);
/* Whether "NAME=value" is hidden. Any thread. */
bool cli_hidden_has(const char *entry);

#endif

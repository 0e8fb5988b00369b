/* src/cli/hidden.h - environment variables that commands do not inherit, because they contain a
 * secret.
 */
#ifndef CLI_HIDDEN_H
#define CLI_HIDDEN_H

#include <stdbool.h>

#include "config.h"

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

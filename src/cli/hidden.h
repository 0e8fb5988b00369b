/* src/cli/hidden.h - the variables that commands do not inherit, because they hold a secret. */
#ifndef CLI_HIDDEN_H
#define CLI_HIDDEN_H

#include <stdbool.h>

#include "config.h"

/*
 * Hides from every command that is started later:
 * - each variable that a secret of the configuration comes from (env:NAME);
 * - PGPASSWORD, which libpq takes the database's password from;
 * - each variable whose name begins with PAWL_ and whose value is a URL or a connection string
 *   with a password, and each one that holds the database's URL if that has a password.
 * May be called again, as when the configuration is reloaded: names are only added, once each, so
 * there are never more than variables that the configurations have named. Any thread.
 */
void cli_hidden_add(const cli_config *config);
/* Whether "NAME=value" is hidden. Any thread. */
bool cli_hidden_has(const char *entry);

#endif

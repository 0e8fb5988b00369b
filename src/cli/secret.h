/* src/cli/secret.h - secrets: their sources, never their values. */
#ifndef CLI_SECRET_H
#define CLI_SECRET_H

#include <stdbool.h>

/* Whether it is "file:PATH" or "env:NAME", as pawl_secrets_load() reads them. */
bool cli_secret_is_source(const char *text);

/* A copy with the password in a URL or in a libpq string replaced by "***". malloc'ed. */
char *cli_url_hide(const char *url);
/* The NAME of "env:NAME"; NULL: another source. */
const char *cli_secret_variable(const char *source);

#endif

/* src/cli/secret.h - secrets: where they come from, and never what they are. */
#ifndef CLI_SECRET_H
#define CLI_SECRET_H

#include <stdbool.h>

/* "file:PATH" or "env:NAME", as pawl_secrets_load() reads them. */
bool cli_secret_is_source(const char *text);

/* A copy in which a password in a URL or in a libpq string is "***". malloc'ed. */
char *cli_url_hide(const char *url);
/* The NAME of "env:NAME"; NULL: it comes from elsewhere. */
const char *cli_secret_variable(const char *source);

#endif

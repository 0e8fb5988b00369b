/* src/cli/secret.h - secrets: where they come from, and never what they are. */
#ifndef CLI_SECRET_H
#define CLI_SECRET_H

#include <stdbool.h>
#include <stddef.h>

#include <pawl/error.h>

#define CLI_SECRET_MIN 16
#define CLI_SECRET_MAX 4096

/* "file:PATH" or "env:NAME". */
bool cli_secret_is_source(const char *text);

/*
 * Read it, without the line end at the end of a file. *ret_secret is the caller's, to be ended by
 * cli_secret_free(). PAWL_E_INVALID: it is not there, cannot be read, or is shorter than
 * CLI_SECRET_MIN or longer than CLI_SECRET_MAX bytes; the message says where, never what.
 */
pawl_status cli_secret_read(const char *source, char **ret_secret, size_t *ret_size,
                            pawl_error *err);
/* Wipes it. NULL is fine. */
void cli_secret_free(char *secret, size_t size);

/* A copy in which a password in a URL or in a libpq string is "***". malloc'ed. */
char *cli_url_hide(const char *url);

#endif

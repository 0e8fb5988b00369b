/* src/transport/scheme.h - what stands before "://". */
#ifndef PAWLI_SCHEME_H
#define PAWLI_SCHEME_H

#include <stdbool.h>

#define PAWLI_SCHEME_SIZE 32

/* A letter, then letters, digits, '+', '-', '.'; in lower case. False: it is no URL. */
bool pawli_scheme_of(const char *url, char ret_scheme[PAWLI_SCHEME_SIZE]);
/* Unix and pipe: reached through a file of this machine. */
bool pawli_scheme_is_local(const char *scheme);
/* What follows "://". `url` must be one. */
const char *pawli_scheme_rest(const char *url);

#endif

/* src/transport/scheme.h - URL schemes: the part before "://". */
#ifndef PAWLI_SCHEME_H
#define PAWLI_SCHEME_H

#include <stdbool.h>

#define PAWLI_SCHEME_SIZE 32

/* A letter, then letters, digits, '+', '-', '.'; returned in lower case. False: not a URL. */
bool pawli_scheme_of(const char *url, char ret_scheme[PAWLI_SCHEME_SIZE]);
/* unix and pipe: reached through a file on this machine. */
bool pawli_scheme_is_local(const char *scheme);
/* The part after "://". `url` must be a URL. */
const char *pawli_scheme_rest(const char *url);

#endif

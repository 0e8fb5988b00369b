/* src/transport/http/target.h - the target of an HTTP request: a URL, and optionally a socket path.
 */
#ifndef PAWLI_TARGET_H
#define PAWLI_TARGET_H

#include <pawl/error.h>

/* The path of a receiver, unless the URL has one. */
#define PAWLI_RECEIVE_PATH "/_rf/receive"
/* Prefix of the socket file of a named pipe, as in .NET. */
#define PAWLI_PIPE_PREFIX "CoreFxPipe_"

typedef struct pawli_target {
    char *url;         /* for HTTP */
    char *socket_path; /* NULL: over TCP */
} pawli_target;

/*
 * Parses http, https, unix and pipe URLs (docs/wire.md). `pipe_directory`: of pipes; NULL: $TMPDIR,
 * or /tmp. PAWL_E_INVALID: it is none of them; the message does not repeat the URL, which may
 * contain a password. PAWL_E_NOMEM.
 */
pawl_status pawli_target_parse(const char *url, const char *pipe_directory,
                               pawli_target *ret_target, pawl_error *err);
void pawli_target_done(pawli_target *target);

#endif

/*
 * src/server/request_check.h - checks of the request head, before anything else.
 *
 * libmicrohttpd accepts requests that a proxy in front of it may interpret differently (two
 * lengths, a length and chunks, blanks in a name), which enables request smuggling. Such a request
 * is rejected, and its connection closed.
 */
#ifndef PAWLI_REQUEST_CHECK_H
#define PAWLI_REQUEST_CHECK_H

#include <stdbool.h>
#include <stdint.h>

struct MHD_Connection;

typedef struct pawli_request_head {
    bool is_json;    /* Content-Type */
    bool is_encoded; /* Content-Encoding: anything but identity */
    bool is_chunked; /* Transfer-Encoding */
    bool has_length;
    int64_t length; /* Content-Length */
} pawli_request_head;

/* NULL: valid, and *ret_head is filled in. Otherwise the error, for the client. */
const char *pawli_request_check(struct MHD_Connection *connection, const char *version,
                                pawli_request_head *ret_head);

/* Whether requests cannot be smuggled past this version of libmicrohttpd
 * (src/server/request_check.c). */
bool pawli_layout_is_supported(const char *version);

/*
 * Whether the headers that were found are complete, one line each with CRLF. Always true where
 * libmicrohttpd checks that itself. Only for a connection and a version as libmicrohttpd passes
 * them to its access handler the first time.
 */
bool pawli_layout_is_plain(struct MHD_Connection *connection, const char *version);

#endif

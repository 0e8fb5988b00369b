/* src/transport/headers.h - the headers of an envelope: the envelope's own and the sender's. */
#ifndef PAWLI_HEADERS_H
#define PAWLI_HEADERS_H

#include <pawl/error.h>

#include "buffer.h"
#include "json_scan.h"

/*
 * Appends the members of `object` that are the sender's own, unchanged, each preceded by a comma.
 * *ret_count: how many. PAWL_E_INVALID: it is not a JSON object. Duplicate names are not detected.
 */
pawl_status pawli_headers_copy_own(pawli_span object, pawli_buffer *buffer, size_t *ret_count,
                                   pawl_error *err);
/*
 * Builds an object for jansson to read: every name, and the values that are strings or null; others
 * become false, so that numbers too large for jansson do no harm.
 */
pawl_status pawli_headers_outline(pawli_span object, pawli_buffer *buffer, pawl_error *err);

#endif

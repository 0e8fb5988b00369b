/* src/transport/headers.h - an envelope's headers: the envelope's own and the sender's. */
#ifndef PAWLI_HEADERS_H
#define PAWLI_HEADERS_H

#include <pawl/error.h>

#include "buffer.h"
#include "scan.h"

/*
 * Append the members of `object` that are the sender's own, as they were written, each with a comma
 * before it. *ret_count: how many. PAWL_E_INVALID: it is not a JSON object. Names that come twice
 * are not looked for.
 */
pawl_status pawli_headers_copy_own(pawli_span object, pawli_buffer *buffer, size_t *ret_count,
                                   pawl_error *err);
/*
 * An object for jansson to read: every name, and the values that are strings or null; others become
 * false, so that numbers too big for it do no harm.
 */
pawl_status pawli_headers_outline(pawli_span object, pawli_buffer *buffer, pawl_error *err);

#endif

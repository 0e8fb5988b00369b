/* include/pawl/ack.h - the acknowledgement: the JSON object with which a receiver responds to an
 * envelope.
 *
 * Part of libpawl-net.
 */
#ifndef PAWL_ACK_H
#define PAWL_ACK_H

#include <stdbool.h>
#include <stddef.h>

#include <pawl/error.h>
#include <pawl/export.h>

PAWL_BEGIN_DECLS

typedef struct pawl_ack pawl_ack; /* opaque; immutable */

/* The content of an acknowledgement. Everything is copied during the call. */
typedef struct pawl_ack_content {
    size_t size; /* set by PAWL_ACK_CONTENT_INIT, never by hand */
    bool acknowledged;
    bool duplicate;      /* duplicateDetected */
    const void *payload; /* the handler's response; NULL: none. Non-JSON as base64 */
    size_t payload_size;
    const char *error; /* NULL: none; truncated to 4 KB, malformed UTF-8 replaced */
} pawl_ack_content;
#define PAWL_ACK_CONTENT_INIT                                                                      \
    {                                                                                              \
        sizeof(pawl_ack_content), false, false, NULL, 0, NULL                                      \
    }

/*
 * For a receiver: encodes the body of its response; read it with pawl_ack_text(). *ret_ack is the
 * caller's.
 */
PAWL_API PAWL_EXPERIMENTAL PAWL_MUST_CHECK pawl_status
pawl_ack_encode(const pawl_ack_content *content, pawl_ack **ret_ack, pawl_error *err);

/*
 * For a sender: decodes such a body. Strict like pawl_envelope_decode(): names exactly as in
 * docs/wire.md (camelCase), `acknowledged` is required. PAWL_E_INVALID, PAWL_E_NOMEM.
 */
PAWL_API PAWL_EXPERIMENTAL PAWL_MUST_CHECK pawl_status pawl_ack_decode(const void *text,
                                                                       size_t size,
                                                                       pawl_ack **ret_ack,
                                                                       pawl_error *err);

/* Borrowed, followed by a zero byte that is not counted in *ret_size (may be NULL). */
PAWL_API PAWL_EXPERIMENTAL const char *pawl_ack_text(const pawl_ack *ack, size_t *ret_size);
PAWL_API PAWL_EXPERIMENTAL bool pawl_ack_acknowledged(const pawl_ack *ack);
PAWL_API PAWL_EXPERIMENTAL bool pawl_ack_duplicate(const pawl_ack *ack);
/* NULL: absent or null. Otherwise as pawl_ack_text(). */
PAWL_API PAWL_EXPERIMENTAL const void *pawl_ack_payload(const pawl_ack *ack, size_t *ret_size);
PAWL_API PAWL_EXPERIMENTAL const char *pawl_ack_error(const pawl_ack *ack); /* may be NULL */
PAWL_API PAWL_EXPERIMENTAL void pawl_ack_free(pawl_ack *ack);               /* NULL is allowed */

PAWL_END_DECLS

#endif

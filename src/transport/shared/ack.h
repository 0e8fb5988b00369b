/* src/transport/shared/ack.h - the acknowledgement: the JSON object with which a receiver responds
 * to an envelope.
 */
#ifndef PAWLI_ACK_H
#define PAWLI_ACK_H

#include <stdbool.h>
#include <stddef.h>

#include <pawl/error.h>
#include <pawl/sys/transport.h>

typedef struct pawl_send_body pawli_ack; /* opaque; immutable; to transports: a body */

/* The content of an acknowledgement. Everything is copied during the call. */
typedef struct pawli_ack_content {
    size_t size; /* set by PAWLI_ACK_CONTENT_INIT, never by hand */
    bool acknowledged;
    bool duplicate;      /* duplicateDetected */
    const void *payload; /* the handler's response; NULL: none. Non-JSON as base64 */
    size_t payload_size;
    const char *error; /* NULL: none; truncated to 4 KB, malformed UTF-8 replaced */
} pawli_ack_content;
#define PAWLI_ACK_CONTENT_INIT                                                                     \
    {                                                                                              \
        sizeof(pawli_ack_content), false, false, NULL, 0, NULL                                     \
    }

/*
 * For a receiver: encodes the body of its response; read it with pawli_ack_text(). *ret_ack is the
 * caller's.
 */
PAWL_MUST_CHECK pawl_status pawli_ack_encode(const pawli_ack_content *content, pawli_ack **ret_ack,
                                             pawl_error *err);

/*
 * For a sender: decodes such a body. Strict like pawl_envelope_decode(): names exactly as in
 * docs/wire.md (camelCase), `acknowledged` is required. PAWL_E_INVALID, PAWL_E_NOMEM.
 */
PAWL_MUST_CHECK pawl_status pawli_ack_decode(const void *text, size_t size, pawli_ack **ret_ack,
                                             pawl_error *err);

/* Borrowed, followed by a zero byte that is not counted in *ret_size (may be NULL). */
const char *pawli_ack_text(const pawli_ack *ack, size_t *ret_size);
bool pawli_ack_acknowledged(const pawli_ack *ack);
bool pawli_ack_duplicate(const pawli_ack *ack);
/* NULL: absent or null. Otherwise as pawli_ack_text(). */
const void *pawli_ack_payload(const pawli_ack *ack, size_t *ret_size);
const char *pawli_ack_error(const pawli_ack *ack); /* may be NULL */
void pawli_ack_free(pawli_ack *ack);               /* NULL is allowed */

#endif

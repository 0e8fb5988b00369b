/* src/transport/content.h - a payload inside a JSON object: embedded, or as base64. */
#ifndef PAWLI_CONTENT_H
#define PAWLI_CONTENT_H

#include <stdbool.h>
#include <stddef.h>

#include <pawl/error.h>

#include "arena.h"
#include "buffer.h"
#include "json_scan.h"

/*
 * Whether it can be embedded. The receiver must get the same bytes, so surrounding white space or
 * more than `depth` levels require base64.
 */
bool pawli_content_is_json(const void *payload, size_t size, int depth);

/* Appends it, as JSON or as a string of base64. */
void pawli_content_append(pawli_buffer *buffer, const void *payload, size_t size, bool is_json);

/*
 * Decodes `value`; the result is copied and terminated. PAWL_E_INVALID: base64 was announced but is
 * invalid. `what` names it in messages.
 */
pawl_status pawli_content_read(pawli_arena *arena, pawli_span value, bool is_base64,
                               const char *what, const char **ret_payload, size_t *ret_size,
                               pawl_error *err);

/* Appends text as a JSON string. It must be UTF-8. */
void pawli_quote(pawli_buffer *buffer, const char *text);

#endif

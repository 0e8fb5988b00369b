/* src/transport/json_scan.h - scanning JSON text without changing or copying it.
 *
 * jansson does not preserve how values were written, but a payload must stay the same byte for
 * byte, because it is hashed. This scanner finds where a value begins and ends. It is as strict as
 * RFC 8259: grammar, UTF-8, depth. It does not detect duplicate names.
 */
#ifndef PAWLI_JSON_SCAN_H
#define PAWLI_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

/* A part of a longer text, not terminated. */
typedef struct pawli_span {
    const char *start;
    size_t size;
} pawli_span;

/* Whether it is one JSON value with nothing before or after it, at most `depth` levels deep. */
bool pawli_json_scan_is_value(const char *text, size_t size, int depth);

/* The members of an object, one by one. */
typedef struct pawli_members {
    const char *at;
    const char *end;
    int depth; /* depth left for the values */
    bool first;
} pawli_members;

typedef enum pawli_found {
    PAWLI_FOUND_MEMBER,
    PAWLI_FOUND_END,   /* the object has ended, and nothing but white space follows */
    PAWLI_FOUND_FAULT, /* it is not JSON; members->at is the position */
} pawli_found;

/* False: no object begins there. Surrounding white space is allowed. */
bool pawli_members_begin(pawli_members *members, const char *text, size_t size, int depth);
/* `ret_name` is without its quotes, with escapes unchanged; `ret_value` is without white space. */
pawli_found pawli_members_next(pawli_members *members, pawli_span *ret_name, pawli_span *ret_value);

static inline bool pawli_span_is_string(pawli_span value)
{
    return value.size > 0 && value.start[0] == '"';
}
bool pawli_span_equals(pawli_span span, const char *text);

#endif

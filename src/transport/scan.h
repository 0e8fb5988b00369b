/* src/transport/scan.h - walking over JSON text without changing or copying it.
 *
 * jansson reads values, and writes them differently than they were written; a payload must stay as
 * it is, byte by byte, because it is hashed. So this finds where a value begins and ends. It is as
 * strict as RFC 8259: grammar, UTF-8, depth. It does not look for names that come twice.
 */
#ifndef PAWLI_SCAN_H
#define PAWLI_SCAN_H

#include <stdbool.h>
#include <stddef.h>

/* A piece of a longer text, not terminated. */
typedef struct pawli_span {
    const char *start;
    size_t size;
} pawli_span;

/* Whether it is one JSON value with nothing before or after it, no more than `depth` deep. */
bool pawli_scan_is_value(const char *text, size_t size, int depth);

/* The members of an object, one by one. */
typedef struct pawli_members {
    const char *at;
    const char *end;
    int depth; /* left for the values */
    bool first;
} pawli_members;

typedef enum pawli_found {
    PAWLI_FOUND_MEMBER,
    PAWLI_FOUND_END,   /* the object has ended, and nothing but white space follows */
    PAWLI_FOUND_FAULT, /* it is not JSON; members->at is where */
} pawli_found;

/* False: no object begins there. White space around it is fine. */
bool pawli_members_begin(pawli_members *members, const char *text, size_t size, int depth);
/* `ret_name` is without its quotes, escapes not undone; `ret_value` is without white space. */
pawli_found pawli_members_next(pawli_members *members, pawli_span *ret_name, pawli_span *ret_value);

static inline bool pawli_span_is_string(pawli_span value)
{
    return value.size > 0 && value.start[0] == '"';
}
bool pawli_span_equals(pawli_span span, const char *text);

#endif

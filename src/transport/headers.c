/* src/transport/headers.c - an envelope's headers: the envelope's own and the sender's. */
#include "headers.h"

#include <string.h>

#include <jansson.h>

#include "envelope.h"
#include "fail.h"

static pawl_status not_an_object(pawl_error *err)
{
    return pawli_fail(err, PAWL_E_INVALID,
                      "headers must be a JSON object, such as {\"key\":\"value\"}");
}

/* A name that is written with escapes may turn out to be a reserved one. */
static bool is_reserved(pawli_span name)
{
    json_t *text;
    bool reserved = true;

    if (!memchr(name.start, '\\', name.size))
        return pawli_header_is_reserved(name);
    /* With its quotes, which stand around it. */
    text = json_loadb(name.start - 1, name.size + 2, JSON_DECODE_ANY, NULL);
    if (text)
        reserved = pawli_header_is_reserved(
            (pawli_span){json_string_value(text), json_string_length(text)});
    json_decref(text);
    return reserved;
}

static void append_member(pawli_buffer *buffer, pawli_span name)
{
    pawli_buffer_append(buffer, name.start - 1, name.size + 2);
    pawli_buffer_text(buffer, ":");
}

pawl_status pawli_headers_copy_own(pawli_span object, pawli_buffer *buffer, size_t *ret_count,
                                   pawl_error *err)
{
    pawli_members members;
    pawli_span name, value;
    pawli_found found;
    size_t count = 0;

    if (!pawli_members_begin(&members, object.start, object.size, PAWLI_PAYLOAD_DEPTH))
        return not_an_object(err);
    while ((found = pawli_members_next(&members, &name, &value)) == PAWLI_FOUND_MEMBER) {
        if (is_reserved(name))
            continue;
        pawli_buffer_text(buffer, ",");
        append_member(buffer, name);
        pawli_buffer_append(buffer, value.start, value.size);
        count++;
    }
    if (found != PAWLI_FOUND_END)
        return not_an_object(err);
    *ret_count = count;
    return PAWL_OK;
}

pawl_status pawli_headers_outline(pawli_span object, pawli_buffer *buffer, pawl_error *err)
{
    const char *separator = "{";
    pawli_members members;
    pawli_span name, value;
    pawli_found found;

    if (!pawli_members_begin(&members, object.start, object.size, PAWLI_PAYLOAD_DEPTH))
        return not_an_object(err);
    while ((found = pawli_members_next(&members, &name, &value)) == PAWLI_FOUND_MEMBER) {
        pawli_buffer_text(buffer, separator);
        separator = ",";
        append_member(buffer, name);
        if (pawli_span_is_string(value) || pawli_span_equals(value, "null"))
            pawli_buffer_append(buffer, value.start, value.size);
        else
            pawli_buffer_text(buffer, "false");
    }
    if (found != PAWLI_FOUND_END)
        return not_an_object(err);
    pawli_buffer_text(buffer, strcmp(separator, "{") == 0 ? "{}" : "}");
    return PAWL_OK;
}

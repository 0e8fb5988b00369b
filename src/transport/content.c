/* src/transport/content.c - payloads and headers in an envelope. */
#include "content.h"

#include <jansson.h>
#include <string.h>

#include "base64.h"
#include "envelope.h"
#include "fail.h"
#include "headers.h"

/* ---- a payload inside a JSON object: verbatim, or as base64 ---- */

bool pawli_content_is_json(const void *payload, size_t size, int depth)
{
    return pawli_json_scan_is_value(payload, size, depth);
}

void pawli_content_append(pawli_buffer *buffer, const void *payload, size_t size, bool is_json)
{
    char *room;

    if (is_json) {
        pawli_buffer_append(buffer, payload, size);
        return;
    }
    pawli_buffer_text(buffer, "\"");
    room = pawli_buffer_reserve(buffer, pawli_base64_length(size));
    if (room)
        pawli_base64_encode(payload, size, room);
    pawli_buffer_text(buffer, "\"");
}

static pawl_status content_no_memory(const char *what, pawl_error *err)
{
    return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %s", what);
}

/* JSON encoders may escape '/' and '+', which are in the base64 alphabet, so unescape them
 * first. */
static pawl_status read_base64(pawli_arena *arena, pawli_span value, const char *what,
                               const char **ret_payload, size_t *ret_size, pawl_error *err)
{
    json_error_t problem;
    json_t *text = json_loadb(value.start, value.size, JSON_DECODE_ANY, &problem);
    pawl_status st = PAWL_OK;
    char *room = NULL;
    size_t size = 0;

    if (!text && json_error_code(&problem) == json_error_out_of_memory)
        return content_no_memory(what, err);
    if (text && json_is_string(text)) {
        room = pawli_arena_alloc(arena, json_string_length(text) / 4 * 3 + 1);
        if (!room)
            st = content_no_memory(what, err);
    }
    if (st == PAWL_OK && (!room || !pawli_base64_decode(json_string_value(text),
                                                        json_string_length(text), room, &size)))
        st = pawli_fail(
            err, PAWL_E_INVALID,
            "%s is not valid base64: use a string of the standard alphabet with padding", what);
    json_decref(text);
    if (st != PAWL_OK)
        return st;
    room[size] = '\0';
    *ret_payload = room;
    *ret_size = size;
    return PAWL_OK;
}

pawl_status pawli_content_read(pawli_arena *arena, pawli_span value, bool is_base64,
                               const char *what, const char **ret_payload, size_t *ret_size,
                               pawl_error *err)
{
    char *copy;

    if (is_base64)
        return read_base64(arena, value, what, ret_payload, ret_size, err);
    copy = pawli_arena_copy(arena, value.start, value.size);
    if (!copy)
        return content_no_memory(what, err);
    *ret_payload = copy;
    *ret_size = value.size;
    return PAWL_OK;
}

void pawli_quote(pawli_buffer *buffer, const char *text)
{
    pawli_buffer_text(buffer, "\"");
    while (*text) {
        size_t plain = 0;
        while ((unsigned char)text[plain] >= 0x20 && text[plain] != '"' && text[plain] != '\\')
            plain++;
        pawli_buffer_append(buffer, text, plain);
        text += plain;
        if (!*text)
            break;
        if (*text == '"' || *text == '\\')
            pawli_buffer_format(buffer, "\\%c", *text);
        else
            pawli_buffer_format(buffer, "\\u%04x", (unsigned)(unsigned char)*text);
        text++;
    }
    pawli_buffer_text(buffer, "\"");
}

/* ---- an envelope's headers: its own and the sender's ---- */

static pawl_status not_an_object(pawl_error *err)
{
    return pawli_fail(err, PAWL_E_INVALID,
                      "headers must be a JSON object, such as {\"key\":\"value\"}");
}

/* A name with escapes may decode to a reserved name. */
static bool is_reserved(pawli_span name)
{
    json_t *text;
    bool reserved = true;

    if (!memchr(name.start, '\\', name.size))
        return pawli_header_is_reserved(name);
    /* include the surrounding quotes */
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

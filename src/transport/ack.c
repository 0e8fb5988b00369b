/* src/transport/ack.c - a receiver's response to an envelope: encoding and decoding. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "arena.h"
#include "buffer.h"
#include "content.h"
#include "fail.h"
#include "options.h"
#include "json_scan.h"
#include "scope.h"
#include "text.h"
#include "ack.h"

#define ERROR_MAX 4096
#define DEPTH_MAX 64

struct pawl_send_body {
    pawli_arena arena; /* everything but `text` */
    char *text;
    size_t text_size;
    bool acknowledged;
    bool duplicate;
    const char *payload;
    size_t payload_size;
    const char *error;
};
PAWLI_AUTO_DEFINE(pawli_ack, pawli_ack_free);

static pawl_status ack_no_memory(pawl_error *err)
{
    return pawli_fail(err, PAWL_E_NOMEM, "out of memory for an acknowledgement");
}

void pawli_ack_free(pawli_ack *ack)
{
    if (!ack)
        return;
    pawli_arena_done(&ack->arena);
    free(ack->text);
    free(ack);
}

/* ---- encoding ---- */

static pawl_status ack_fill(pawli_ack *ack, const pawli_ack_content *content, pawl_error *err)
{
    char error[ERROR_MAX];

    ack->acknowledged = content->acknowledged;
    ack->duplicate = content->duplicate;
    if (content->payload) {
        ack->payload = pawli_arena_copy(&ack->arena, content->payload, content->payload_size);
        ack->payload_size = content->payload_size;
    }
    if (content->error) {
        size_t size = pawli_utf8_clean(content->error, error, sizeof error);
        ack->error = pawli_arena_copy(&ack->arena, error, size);
    }
    return (content->payload && !ack->payload) || (content->error && !ack->error)
               ? ack_no_memory(err)
               : PAWL_OK;
}

static pawl_status ack_write_text(pawli_ack *ack, pawl_error *err)
{
    PAWLI_AUTO_BUFFER buffer = {0};
    bool is_json = true;

    pawli_buffer_format(&buffer, "{\"acknowledged\":%s,\"duplicateDetected\":%s,\"payload\":",
                        ack->acknowledged ? "true" : "false", ack->duplicate ? "true" : "false");
    if (ack->payload) {
        is_json = pawli_content_is_json(ack->payload, ack->payload_size, DEPTH_MAX - 1);
        pawli_content_append(&buffer, ack->payload, ack->payload_size, is_json);
    } else {
        pawli_buffer_text(&buffer, "null");
    }
    if (!is_json)
        pawli_buffer_text(&buffer, ",\"payloadEncoding\":\"base64\"");
    pawli_buffer_text(&buffer, ",\"error\":");
    if (ack->error)
        pawli_quote(&buffer, ack->error);
    else
        pawli_buffer_text(&buffer, "null");
    pawli_buffer_text(&buffer, "}");
    ack->text_size = buffer.size;
    ack->text = pawli_buffer_take(&buffer);
    return ack->text ? PAWL_OK : ack_no_memory(err);
}

pawl_status pawli_ack_encode(const pawli_ack_content *given, pawli_ack **ret_ack, pawl_error *err)
{
    pawli_ack_content content = PAWLI_ACK_CONTENT_INIT;
    PAWLI_AUTO(pawli_ack) ack = NULL;
    pawl_status st;

    if (!given || !ret_ack)
        return pawli_fail(err, PAWL_E_INVALID, "content and ret_ack must not be NULL");
    st = pawli_options_copy(&content, sizeof content, given, err);
    if (st != PAWL_OK)
        return st;
    ack = calloc(1, sizeof *ack);
    if (!ack)
        return ack_no_memory(err);
    st = ack_fill(ack, &content, err);
    if (st == PAWL_OK)
        st = ack_write_text(ack, err);
    if (st != PAWL_OK)
        return st;
    *ret_ack = pawli_ack_take(&ack);
    return PAWL_OK;
}

/* ---- decoding ---- */

/* As with envelopes: locates the payload, and leaves the rest to jansson. */
static pawl_status ack_outline(const char *text, size_t size, pawli_span *ret_payload,
                               pawli_buffer *buffer, pawl_error *err)
{
    const char *separator = "{";
    pawli_members members;
    pawli_span name, value;
    pawli_found found;

    if (!pawli_members_begin(&members, text, size, DEPTH_MAX))
        return pawli_fail(err, PAWL_E_INVALID, "an acknowledgement must be a JSON object");
    while ((found = pawli_members_next(&members, &name, &value)) == PAWLI_FOUND_MEMBER) {
        bool plain = pawli_span_equals(name, "acknowledged") ||
                     pawli_span_equals(name, "duplicateDetected") ||
                     pawli_span_equals(name, "payloadEncoding") || pawli_span_equals(name, "error");
        if (pawli_span_equals(name, "payload"))
            *ret_payload = value;
        pawli_buffer_text(buffer, separator);
        separator = ",";
        pawli_buffer_append(buffer, name.start - 1, name.size + 2);
        pawli_buffer_text(buffer, ":");
        if (plain)
            pawli_buffer_append(buffer, value.start, value.size);
        else
            pawli_buffer_text(buffer, "null");
    }
    if (found != PAWLI_FOUND_END)
        return pawli_fail(err, PAWL_E_INVALID, "the acknowledgement is not valid JSON: byte %zu",
                          (size_t)(members.at - text));
    pawli_buffer_text(buffer, strcmp(separator, "{") == 0 ? "{}" : "}");
    return buffer->failed ? ack_no_memory(err) : PAWL_OK;
}

static bool is_absent(const json_t *value)
{
    return !value || json_is_null(value);
}

static pawl_status ack_read_fields(pawli_ack *ack, const json_t *fields, pawl_error *err)
{
    const json_t *acknowledged = json_object_get(fields, "acknowledged");
    const json_t *duplicate = json_object_get(fields, "duplicateDetected");
    const json_t *error = json_object_get(fields, "error");
    const json_t *encoding = json_object_get(fields, "payloadEncoding");

    if (!json_is_boolean(acknowledged) || (!is_absent(duplicate) && !json_is_boolean(duplicate)))
        return pawli_fail(err, PAWL_E_INVALID,
                          "acknowledged must be true or false, and so must duplicateDetected");
    if (!is_absent(error) && !json_is_string(error))
        return pawli_fail(err, PAWL_E_INVALID, "error must be a string or null");
    if (!is_absent(encoding) &&
        (!json_is_string(encoding) || strcmp(json_string_value(encoding), "base64") != 0))
        return pawli_fail(err, PAWL_E_INVALID, "payloadEncoding must be \"base64\" or absent");
    ack->acknowledged = json_is_true(acknowledged);
    ack->duplicate = json_is_true(duplicate);
    if (is_absent(error))
        return PAWL_OK;
    ack->error = pawli_arena_copy(&ack->arena, json_string_value(error), json_string_length(error));
    return ack->error ? PAWL_OK : ack_no_memory(err);
}

static pawl_status ack_decode(pawli_ack *ack, pawl_error *err)
{
    PAWLI_AUTO_BUFFER buffer = {0};
    pawli_span payload = {NULL, 0};
    json_error_t problem;
    bool is_base64;
    pawl_status st = ack_outline(ack->text, ack->text_size, &payload, &buffer, err);

    if (st != PAWL_OK)
        return st;
    json_t *fields = json_loadb(buffer.data, buffer.size, JSON_REJECT_DUPLICATES, &problem);
    if (!fields)
        return json_error_code(&problem) == json_error_out_of_memory
                   ? ack_no_memory(err)
                   : pawli_fail(err, PAWL_E_INVALID,
                                "the acknowledgement has a repeated name, or a value that cannot "
                                "be decoded");
    st = ack_read_fields(ack, fields, err);
    is_base64 = json_is_string(json_object_get(fields, "payloadEncoding"));
    json_decref(fields);
    if (st != PAWL_OK || !payload.start || (!is_base64 && pawli_span_equals(payload, "null")))
        return st;
    return pawli_content_read(&ack->arena, payload, is_base64, "payload", &ack->payload,
                              &ack->payload_size, err);
}

pawl_status pawli_ack_decode(const void *text, size_t size, pawli_ack **ret_ack, pawl_error *err)
{
    PAWLI_AUTO(pawli_ack) ack = NULL;
    pawl_status st;

    if (!text || !ret_ack)
        return pawli_fail(err, PAWL_E_INVALID, "text and ret_ack must not be NULL");
    ack = calloc(1, sizeof *ack);
    if (ack)
        ack->text = malloc(size + 1);
    if (!ack || !ack->text)
        return ack_no_memory(err);
    memcpy(ack->text, text, size);
    ack->text[size] = '\0';
    ack->text_size = size;
    st = ack_decode(ack, err);
    if (st != PAWL_OK)
        return st;
    *ret_ack = pawli_ack_take(&ack);
    return PAWL_OK;
}

/* ---- accessors ---- */

const char *pawli_ack_text(const pawli_ack *ack, size_t *ret_size)
{
    if (ret_size)
        *ret_size = ack->text_size;
    return ack->text;
}

bool pawli_ack_acknowledged(const pawli_ack *ack)
{
    return ack->acknowledged;
}

bool pawli_ack_duplicate(const pawli_ack *ack)
{
    return ack->duplicate;
}

const void *pawli_ack_payload(const pawli_ack *ack, size_t *ret_size)
{
    if (ret_size)
        *ret_size = ack->payload_size;
    return ack->payload;
}

const char *pawli_ack_error(const pawli_ack *ack)
{
    return ack->error;
}

/* src/transport/envelope_decode.c - decodes received bytes strictly into an envelope. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "buffer.h"
#include "content.h"
#include "envelope.h"
#include "fail.h"
#include "headers.h"
#include "text.h"
#include "timestamp.h"

#define HEADER_MAX 255
#define ATTEMPT_MAX 1000000

static pawl_status decode_no_memory(pawl_error *err)
{
    return pawli_fail(err, PAWL_E_NOMEM, "out of memory for an envelope");
}

/* The positions of the two members that jansson does not decode. */
typedef struct places {
    pawli_span payload;
    pawli_span headers;
} places;

/* jansson decodes only these members; the values of others do not matter. */
static bool is_plain_field(pawli_span name)
{
    static const char *const names[] = {"messageId", "correlationId", "sourceServiceId",
                                        "messageType", "endpoint"};

    for (size_t i = 0; i < PAWLI_COUNT(names); i++)
        if (pawli_span_equals(name, names[i]))
            return true;
    return false;
}

/*
 * One pass over the text: validates the JSON, locates the payload, and copies the rest into an
 * outline for jansson. The outline has every name, so jansson detects duplicates however they
 * are escaped.
 */
static pawl_status envelope_decode_outline(const char *text, size_t size, places *ret_places,
                                           pawli_buffer *buffer, pawl_error *err)
{
    const char *separator = "{";
    pawli_members members;
    pawli_span name, value;
    pawli_found found;
    pawl_status st;

    if (!pawli_members_begin(&members, text, size, PAWL_ENVELOPE_DEPTH_MAX))
        return pawli_fail(err, PAWL_E_INVALID, "an envelope must be a JSON object");
    while ((found = pawli_members_next(&members, &name, &value)) == PAWLI_FOUND_MEMBER) {
        pawli_buffer_text(buffer, separator);
        separator = ",";
        pawli_buffer_append(buffer, name.start - 1, name.size + 2);
        pawli_buffer_text(buffer, ":");
        if (pawli_span_equals(name, "headers")) {
            ret_places->headers = value;
            st = pawli_headers_outline(value, buffer, err);
            if (st != PAWL_OK)
                return st;
            continue;
        }
        if (pawli_span_equals(name, "payload"))
            ret_places->payload = value;
        if (is_plain_field(name))
            pawli_buffer_append(buffer, value.start, value.size);
        else
            pawli_buffer_text(buffer, "null");
    }
    if (found != PAWLI_FOUND_END)
        return pawli_fail(
            err, PAWL_E_INVALID,
            "the envelope is not valid JSON in UTF-8, or is nested deeper than %d: byte %zu",
            PAWL_ENVELOPE_DEPTH_MAX, (size_t)(members.at - text));
    pawli_buffer_text(buffer, strcmp(separator, "{") == 0 ? "{}" : "}");
    return PAWL_OK;
}

static pawl_status read_outline(const pawli_buffer *buffer, json_t **ret_fields, pawl_error *err)
{
    json_error_t problem;
    json_t *fields;

    if (buffer->failed)
        return decode_no_memory(err);
    fields = json_loadb(buffer->data, buffer->size, JSON_REJECT_DUPLICATES, &problem);
    if (!fields && json_error_code(&problem) == json_error_out_of_memory)
        return decode_no_memory(err);
    if (!fields && json_error_code(&problem) == json_error_duplicate_key)
        return pawli_fail(err, PAWL_E_INVALID, "the envelope has a repeated name");
    if (!fields)
        return pawli_fail(err, PAWL_E_INVALID,
                          "a field of the envelope has a value that cannot be decoded: a NUL "
                          "character, an unpaired surrogate, or a number out of range");
    *ret_fields = fields;
    return PAWL_OK;
}

/* A string of 1 to `max` characters; if it is `optional`, null and "" mean none. */
static pawl_status envelope_decode_read_text(pawl_envelope *envelope, const json_t *object,
                                             const char *name, size_t max, bool optional,
                                             const char **ret_text, pawl_error *err)
{
    const json_t *value = json_object_get(object, name);
    const char *text = json_string_value(value);
    size_t characters = 0;

    if (optional && (!value || json_is_null(value) || (text && !*text)))
        return PAWL_OK;
    if (text)
        (void)pawli_utf8_check(text, json_string_length(value), &characters);
    if (characters < 1 || characters > max)
        return pawli_fail(err, PAWL_E_INVALID, "%s must be a string of 1 to %zu characters", name,
                          max);
    return pawli_envelope_keep(envelope, text, ret_text, err);
}

static pawl_status envelope_decode_read_fields(pawl_envelope *envelope, const json_t *fields,
                                               pawl_error *err)
{
    const char *type = json_string_value(json_object_get(fields, "messageType"));
    pawl_status st = envelope_decode_read_text(envelope, fields, "messageId", PAWL_ENVELOPE_ID_MAX,
                                               false, &envelope->id, err);

    if (st == PAWL_OK)
        st = envelope_decode_read_text(envelope, fields, "sourceServiceId", PAWL_SOURCE_MAX, false,
                                       &envelope->source, err);
    if (st == PAWL_OK)
        st = envelope_decode_read_text(envelope, fields, "endpoint", PAWL_TOPIC_MAX, false,
                                       &envelope->endpoint, err);
    if (st == PAWL_OK)
        st = envelope_decode_read_text(envelope, fields, "correlationId", PAWL_CORRELATION_MAX,
                                       true, &envelope->correlation_id, err);
    if (st != PAWL_OK)
        return st;
    if (pawli_has_controls(envelope->id) || pawli_has_controls(envelope->source))
        return pawli_fail(err, PAWL_E_INVALID,
                          "messageId and sourceServiceId must not contain control characters");
    if (!type || !pawli_type_from_wire(type, &envelope->type))
        return pawli_fail(err, PAWL_E_INVALID,
                          "messageType must be \"Signal\", \"Command\", \"PushCall\" or "
                          "\"Response\"");
    return PAWL_OK;
}

static pawl_status read_attempt(const json_t *headers, int *ret_attempt, pawl_error *err)
{
    const json_t *value = json_object_get(headers, "rf-attempt");
    const char *text = json_string_value(value);
    size_t digits = text ? strspn(text, "0123456789") : 0;
    long number = digits > 0 && digits <= 7 && !text[digits] ? strtol(text, NULL, 10) : 0;

    if (value && (number < 1 || number > ATTEMPT_MAX))
        return pawli_fail(err, PAWL_E_INVALID, "rf-attempt must be a string such as \"1\"");
    *ret_attempt = (int)number;
    return PAWL_OK;
}

/* The envelope's own headers. */
static pawl_status read_headers(pawl_envelope *envelope, const json_t *headers, pawl_error *err)
{
    pawl_wall ignored;
    pawl_status st;

    if (!json_is_object(headers))
        return pawli_fail(err, PAWL_E_INVALID, "headers is missing");
    st = envelope_decode_read_text(envelope, headers, "rf-version", HEADER_MAX, false,
                                   &envelope->version, err);
    if (st == PAWL_OK && (!envelope->version || strncmp(envelope->version, "2.", 2) != 0))
        st = pawli_fail(err, PAWL_E_INVALID, "rf-version must be \"2.0\"");
    if (st == PAWL_OK)
        st = envelope_decode_read_text(envelope, headers, "rf-timestamp", HEADER_MAX, false,
                                       &envelope->timestamp, err);
    if (st == PAWL_OK && !pawli_timestamp_parse(envelope->timestamp, &ignored))
        st = pawli_fail(err, PAWL_E_INVALID,
                        "rf-timestamp must be a time such as \"2026-02-14T12:00:00Z\"");
    if (st == PAWL_OK)
        st = envelope_decode_read_text(envelope, headers, "rf-hmac", HEADER_MAX, true,
                                       &envelope->hmac, err);
    if (st == PAWL_OK)
        st = read_attempt(headers, &envelope->attempt, err);
    if (st == PAWL_OK)
        st = pawli_envelope_keep(envelope,
                                 json_string_value(json_object_get(headers, "traceparent")),
                                 &envelope->traceparent, err);
    if (st == PAWL_OK)
        st =
            pawli_envelope_keep(envelope, json_string_value(json_object_get(headers, "tracestate")),
                                &envelope->tracestate, err);
    return st;
}

static pawl_status keep_own_headers(pawl_envelope *envelope, pawli_span headers, pawl_error *err)
{
    PAWLI_AUTO_BUFFER buffer = {0};
    size_t count = 0;
    pawl_status st = pawli_headers_copy_own(headers, &buffer, &count, err);

    if (st != PAWL_OK || count == 0)
        return st;
    pawli_buffer_text(&buffer, "}");
    if (buffer.failed)
        return decode_no_memory(err);
    buffer.data[0] = '{'; /* overwrites the first comma */
    return pawli_envelope_keep(envelope, buffer.data, &envelope->headers, err);
}

static pawl_status decode_read_payload(pawl_envelope *envelope, const json_t *headers,
                                       pawli_span payload, pawl_error *err)
{
    const json_t *encoding = json_object_get(headers, "rf-payload-encoding");
    const char *name = json_string_value(encoding);
    pawl_status st;

    if (!payload.start)
        return pawli_fail(err, PAWL_E_INVALID, "payload is missing");
    if (encoding && (!name || strcmp(name, "base64") != 0))
        return pawli_fail(err, PAWL_E_INVALID, "rf-payload-encoding must be \"base64\" or absent");
    envelope->payload_is_json = !encoding;
    st = pawli_content_read(&envelope->arena, payload, encoding != NULL, "payload",
                            &envelope->payload, &envelope->payload_size, err);
    if (st != PAWL_OK)
        return st;
    return pawli_sha256(envelope->payload, envelope->payload_size, envelope->payload_hash)
               ? PAWL_OK
               : decode_no_memory(err);
}

static pawl_status envelope_decode_decode(pawl_envelope *envelope, pawl_error *err)
{
    PAWLI_AUTO_BUFFER buffer = {0};
    const json_t *headers;
    places at = {{0}, {0}};
    json_t *fields = NULL;
    pawl_status st =
        envelope_decode_outline(envelope->text, envelope->text_size, &at, &buffer, err);

    if (st == PAWL_OK)
        st = read_outline(&buffer, &fields, err);
    if (st != PAWL_OK)
        return st;
    headers = json_object_get(fields, "headers");
    st = envelope_decode_read_fields(envelope, fields, err);
    if (st == PAWL_OK)
        st = read_headers(envelope, headers, err);
    if (st == PAWL_OK)
        st = keep_own_headers(envelope, at.headers, err);
    if (st == PAWL_OK)
        st = decode_read_payload(envelope, headers, at.payload, err);
    json_decref(fields);
    return st;
}

pawl_status pawl_envelope_decode(const void *text, size_t size, size_t max_bytes,
                                 pawl_envelope **ret_envelope, pawl_error *err)
{
    PAWLI_AUTO(pawl_envelope) envelope = NULL;
    size_t limit = max_bytes ? max_bytes : PAWL_ENVELOPE_MAX_BYTES;
    pawl_status st;

    if (!text || !ret_envelope)
        return pawli_fail(err, PAWL_E_INVALID, "text and ret_envelope must not be NULL");
    if (size > limit)
        return pawli_fail(err, PAWL_E_TOO_LARGE, "the envelope has %zu bytes; the maximum is %zu",
                          size, limit);
    envelope = calloc(1, sizeof *envelope);
    if (envelope)
        envelope->text = malloc(size + 1);
    if (!envelope || !envelope->text)
        return decode_no_memory(err);
    memcpy(envelope->text, text, size);
    envelope->text[size] = '\0';
    envelope->text_size = size;
    st = envelope_decode_decode(envelope, err);
    if (st != PAWL_OK)
        return st;
    *ret_envelope = pawl_envelope_take(&envelope);
    return PAWL_OK;
}

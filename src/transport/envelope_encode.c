/* src/transport/envelope_encode.c - from a message to the envelope it travels in. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "buffer.h"
#include "content.h"
#include "envelope.h"
#include "fail.h"
#include "headers.h"
#include "options.h"
#include "sign.h"
#include "text.h"
#include "timestamp.h"
#include "platform.h"

#define ATTEMPT_MAX 1000000

static pawl_status no_memory(pawl_error *err)
{
    return pawli_fail(err, PAWL_E_NOMEM, "no memory for an envelope");
}

static pawl_status envelope_encode_check_options(const pawl_envelope_options *given,
                                                 pawl_envelope_options *opts, pawl_error *err)
{
    size_t characters = 0;
    pawl_status st = pawli_options_copy(opts, sizeof *opts, given, err);

    if (st != PAWL_OK)
        return st;
    if (!opts->source || !pawli_utf8_check(opts->source, strlen(opts->source), &characters) ||
        characters < 1 || characters > PAWL_SOURCE_MAX || pawli_has_controls(opts->source))
        return pawli_fail(err, PAWL_E_INVALID,
                          "source, the name of this service, must be 1 to %d characters of UTF-8 "
                          "without control characters",
                          PAWL_SOURCE_MAX);
    if (opts->scheme != PAWL_SCHEME_1 && opts->scheme != PAWL_SCHEME_2)
        return pawli_fail(err, PAWL_E_INVALID, "signature scheme %d is unknown: 1 or 2",
                          opts->scheme);
    if (opts->attempt < 0 || opts->attempt > ATTEMPT_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "attempt %d is out of range: 0 to %d", opts->attempt,
                          ATTEMPT_MAX);
    if (opts->now.us == 0)
        opts->now = pawli_wall_now();
    return PAWL_OK;
}

/* Everything but headers, signature and text. */
static pawl_status envelope_encode_fill(pawl_envelope *envelope, const pawl_message *message,
                                        const pawl_envelope_options *opts, pawl_error *err)
{
    char id[PAWL_UUID_TEXT_SIZE], timestamp[PAWLI_TIMESTAMP_SIZE];
    const void *payload = pawl_message_payload(message, &envelope->payload_size);
    pawl_status st;

    pawl_uuid_format(pawl_message_id(message), id);
    pawli_timestamp_format(opts->now, timestamp);
    envelope->type = pawl_message_type(message);
    /* The receiver wants to know whether it may have seen the message: deferred sends, too. */
    envelope->attempt = opts->attempt
                            ? opts->attempt
                            : pawl_message_attempt(message) + pawl_message_deferrals(message);
    envelope->version = PAWLI_RF_VERSION;
    envelope->payload_is_json =
        pawli_content_is_json(payload, envelope->payload_size, PAWLI_PAYLOAD_DEPTH);
    envelope->payload = pawli_arena_copy(&envelope->arena, payload, envelope->payload_size);
    if (!envelope->payload ||
        !pawli_sha256(payload, envelope->payload_size, envelope->payload_hash))
        return no_memory(err);
    st = pawli_envelope_keep(envelope, id, &envelope->id, err);
    if (st == PAWL_OK)
        st = pawli_envelope_keep(envelope, timestamp, &envelope->timestamp, err);
    if (st == PAWL_OK)
        st = pawli_envelope_keep(envelope, opts->source, &envelope->source, err);
    if (st == PAWL_OK)
        st = pawli_envelope_keep(envelope, pawl_message_topic(message), &envelope->endpoint, err);
    if (st == PAWL_OK)
        st = pawli_envelope_keep(envelope, pawl_message_correlation_id(message),
                                 &envelope->correlation_id, err);
    return st;
}

static pawl_status envelope_encode_sign(pawl_envelope *envelope, const pawl_envelope_options *opts,
                                        pawl_error *err)
{
    char text[PAWLI_SIGNATURE_TEXT_SIZE];
    pawl_status st;

    if (pawl_secrets_count(opts->secrets) == 0)
        return PAWL_OK;
    const pawli_signed what = {envelope->version,
                               envelope->timestamp,
                               envelope->id,
                               envelope->source,
                               pawl_type_wire_name(envelope->type),
                               envelope->endpoint,
                               envelope->correlation_id,
                               envelope->payload_hash};
    st = pawli_sign_text(&what, opts->scheme, &opts->secrets->items[0], text, err);
    if (st != PAWL_OK)
        return st;
    return pawli_envelope_keep(envelope, text, &envelope->hmac, err);
}

/* The sender's own headers, as a list with a comma before each, and as an object. */
static pawl_status copy_own_headers(pawl_envelope *envelope, const char *headers,
                                    pawli_buffer *list, pawl_error *err)
{
    pawli_span object = {headers, headers ? strlen(headers) : 0};
    size_t count = 0;
    json_t *read;
    pawl_status st;

    if (!headers)
        return PAWL_OK;
    st = pawli_headers_copy_own(object, list, &count, err);
    if (st != PAWL_OK || count == 0)
        return st;
    PAWLI_AUTO_BUFFER whole = {0};
    pawli_buffer_text(&whole, "{");
    pawli_buffer_append(&whole, list->data + 1, list->size - 1); /* without the first comma */
    pawli_buffer_text(&whole, "}");
    if (list->failed || whole.failed)
        return no_memory(err);
    st = pawli_envelope_keep(envelope, whole.data, &envelope->headers, err);
    if (st != PAWL_OK)
        return st;
    /* Stored headers have been checked; what jansson cannot read has no trace to follow. */
    read = json_loadb(whole.data, whole.size, 0, NULL);
    st = pawli_envelope_keep(envelope, json_string_value(json_object_get(read, "traceparent")),
                             &envelope->traceparent, err);
    if (st == PAWL_OK)
        st = pawli_envelope_keep(envelope, json_string_value(json_object_get(read, "tracestate")),
                                 &envelope->tracestate, err);
    json_decref(read);
    return st;
}

static void append_text(pawli_buffer *buffer, const char *name, const char *value)
{
    pawli_buffer_format(buffer, "\"%s\":", name);
    if (value)
        pawli_quote(buffer, value);
    else
        pawli_buffer_text(buffer, "null");
    pawli_buffer_text(buffer, ",");
}

static void append_headers(pawli_buffer *buffer, const pawl_envelope *envelope,
                           const pawli_buffer *own)
{
    pawli_buffer_text(buffer, "\"headers\":{");
    append_text(buffer, "rf-version", envelope->version);
    append_text(buffer, "rf-timestamp", envelope->timestamp);
    if (!envelope->payload_is_json)
        append_text(buffer, "rf-payload-encoding", "base64");
    if (envelope->hmac)
        append_text(buffer, "rf-hmac", envelope->hmac);
    pawli_buffer_format(buffer, "\"rf-attempt\":\"%d\"", envelope->attempt);
    if (own->size > 0)
        pawli_buffer_append(buffer, own->data, own->size);
    pawli_buffer_text(buffer, "}}");
}

static pawl_status envelope_encode_write_text(pawl_envelope *envelope, const pawli_buffer *own,
                                              pawl_error *err)
{
    PAWLI_AUTO_BUFFER buffer = {0};

    pawli_buffer_text(&buffer, "{");
    append_text(&buffer, "messageId", envelope->id);
    append_text(&buffer, "correlationId", envelope->correlation_id);
    append_text(&buffer, "sourceServiceId", envelope->source);
    append_text(&buffer, "messageType", pawl_type_wire_name(envelope->type));
    append_text(&buffer, "endpoint", envelope->endpoint);
    pawli_buffer_text(&buffer, "\"payload\":");
    pawli_content_append(&buffer, envelope->payload, envelope->payload_size,
                         envelope->payload_is_json);
    pawli_buffer_text(&buffer, ",");
    append_headers(&buffer, envelope, own);
    envelope->text_size = buffer.size;
    envelope->text = pawli_buffer_take(&buffer);
    return envelope->text ? PAWL_OK : no_memory(err);
}

pawl_status pawl_envelope_encode(const pawl_message *message, const pawl_envelope_options *given,
                                 pawl_envelope **ret_envelope, pawl_error *err)
{
    pawl_envelope_options opts = PAWL_ENVELOPE_OPTIONS_INIT;
    PAWLI_AUTO(pawl_envelope) envelope = NULL;
    PAWLI_AUTO_BUFFER own = {0};
    pawl_status st;

    if (!message || !ret_envelope)
        return pawli_fail(err, PAWL_E_INVALID, "message and ret_envelope must not be NULL");
    st = envelope_encode_check_options(given, &opts, err);
    if (st != PAWL_OK)
        return st;
    envelope = calloc(1, sizeof *envelope);
    if (!envelope)
        return no_memory(err);
    st = envelope_encode_fill(envelope, message, &opts, err);
    if (st == PAWL_OK)
        st = copy_own_headers(envelope, pawl_message_headers(message), &own, err);
    if (st == PAWL_OK)
        st = envelope_encode_sign(envelope, &opts, err);
    if (st == PAWL_OK)
        st = envelope_encode_write_text(envelope, &own, err);
    if (st != PAWL_OK)
        return st;
    *ret_envelope = pawl_envelope_take(&envelope);
    return PAWL_OK;
}

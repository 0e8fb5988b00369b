/* src/transport/envelope.c - envelopes and encoding them. */
#include "envelope.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "buffer.h"
#include "content.h"
#include "fail.h"
#include "headers.h"
#include "options.h"
#include "platform.h"
#include "sign.h"
#include "text.h"
#include "timestamp.h"
#include "signature.h"

/* ---- the envelope: accessors and freeing ---- */

static const char *const type_names[] = {"Signal", "Command", "PushCall", "Response"};

const char *pawl_type_wire_name(pawl_type type)
{
    return (unsigned)type < PAWLI_COUNT(type_names) ? type_names[type] : "Unknown";
}

bool pawli_type_from_wire(const char *name, pawl_type *ret_type)
{
    for (size_t i = 0; i < PAWLI_COUNT(type_names); i++) {
        if (strcmp(name, type_names[i]) == 0) {
            *ret_type = (pawl_type)i;
            return true;
        }
    }
    return false;
}

bool pawli_header_is_reserved(pawli_span name)
{
    return name.size >= 3 && strncasecmp(name.start, "rf-", 3) == 0;
}

bool pawli_has_controls(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return true;
    return false;
}

pawl_status pawli_envelope_keep(pawl_envelope *envelope, const char *text, const char **ret_copy,
                                pawl_error *err)
{
    const char *copy = text ? pawli_arena_copy(&envelope->arena, text, strlen(text)) : NULL;

    if (text && !copy)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for an envelope");
    *ret_copy = copy;
    return PAWL_OK;
}

void pawli_envelope_borrow(const pawl_envelope *envelope)
{
    /* Only the reference count changes, which is not visible to users. */
    pawl_envelope *counted = (pawl_envelope *)(uintptr_t)envelope;

    atomic_fetch_add_explicit(&counted->borrowers, 1, memory_order_relaxed);
}

void pawl_envelope_free(pawl_envelope *envelope)
{
    if (!envelope || atomic_fetch_sub_explicit(&envelope->borrowers, 1, memory_order_acq_rel) > 0)
        return;
    pawli_arena_done(&envelope->arena);
    free(envelope->text);
    free(envelope);
}

const char *pawl_envelope_text(const pawl_envelope *envelope, size_t *ret_size)
{
    if (ret_size)
        *ret_size = envelope->text_size;
    return envelope->text;
}

const void *pawl_envelope_payload(const pawl_envelope *envelope, size_t *ret_size)
{
    if (ret_size)
        *ret_size = envelope->payload_size;
    return envelope->payload;
}

const char *pawl_envelope_id(const pawl_envelope *envelope)
{
    return envelope->id;
}

const char *pawl_envelope_source(const pawl_envelope *envelope)
{
    return envelope->source;
}

const char *pawl_envelope_endpoint(const pawl_envelope *envelope)
{
    return envelope->endpoint;
}

pawl_type pawl_envelope_type(const pawl_envelope *envelope)
{
    return envelope->type;
}

const char *pawl_envelope_correlation_id(const pawl_envelope *envelope)
{
    return envelope->correlation_id;
}

bool pawl_envelope_payload_is_json(const pawl_envelope *envelope)
{
    return envelope->payload_is_json;
}

const uint8_t *pawl_envelope_payload_hash(const pawl_envelope *envelope)
{
    return envelope->payload_hash;
}

const char *pawl_envelope_headers(const pawl_envelope *envelope)
{
    return envelope->headers;
}

const char *pawl_envelope_version(const pawl_envelope *envelope)
{
    return envelope->version;
}

const char *pawl_envelope_timestamp(const pawl_envelope *envelope)
{
    return envelope->timestamp;
}

const char *pawl_envelope_hmac(const pawl_envelope *envelope)
{
    return envelope->hmac;
}

int pawl_envelope_attempt(const pawl_envelope *envelope)
{
    return envelope->attempt;
}

const char *pawl_envelope_traceparent(const pawl_envelope *envelope)
{
    return envelope->traceparent;
}

const char *pawl_envelope_tracestate(const pawl_envelope *envelope)
{
    return envelope->tracestate;
}

/* ---- encoding a message as an envelope ---- */

#define ATTEMPT_MAX 1000000

static pawl_status envelope_no_memory(pawl_error *err)
{
    return pawli_fail(err, PAWL_E_NOMEM, "out of memory for an envelope");
}

static pawl_status envelope_encode_check_options(const pawli_envelope_options *given,
                                                 pawli_envelope_options *opts, pawl_error *err)
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

/* Fills in everything except headers, signature and text. */
static pawl_status envelope_encode_fill(pawl_envelope *envelope, const pawl_message *message,
                                        const pawli_envelope_options *opts, pawl_error *err)
{
    char id[PAWL_UUID_TEXT_SIZE], timestamp[PAWLI_TIMESTAMP_SIZE];
    const void *payload = pawl_message_payload(message, &envelope->payload_size);
    pawl_status st;

    pawl_uuid_format(pawl_message_id(message), id);
    pawli_timestamp_format(opts->now, timestamp);
    envelope->type = pawl_message_type(message);
    /* The attempt tells the receiver whether it may have seen the message before, so deferred
     * sends count. */
    envelope->attempt = opts->attempt
                            ? opts->attempt
                            : pawl_message_attempt(message) + pawl_message_deferrals(message);
    envelope->version = PAWLI_RF_VERSION;
    envelope->payload_is_json =
        pawli_content_is_json(payload, envelope->payload_size, PAWLI_PAYLOAD_DEPTH);
    envelope->payload = pawli_arena_copy(&envelope->arena, payload, envelope->payload_size);
    if (!envelope->payload ||
        !pawli_sha256(payload, envelope->payload_size, envelope->payload_hash))
        return envelope_no_memory(err);
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

static pawl_status envelope_encode_sign(pawl_envelope *envelope, const pawli_envelope_options *opts,
                                        pawl_error *err)
{
    char text[PAWLI_SIGNATURE_TEXT_SIZE];
    pawl_status st;

    if (pawli_secrets_count(opts->secrets) == 0)
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

/* Copies the sender's own headers, as a list with a comma before each, and as an object. */
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
    pawli_buffer_append(&whole, list->data + 1, list->size - 1); /* skip the first comma */
    pawli_buffer_text(&whole, "}");
    if (list->failed || whole.failed)
        return envelope_no_memory(err);
    st = pawli_envelope_keep(envelope, whole.data, &envelope->headers, err);
    if (st != PAWL_OK)
        return st;
    /* Stored headers have been validated; if jansson cannot decode them, there is no trace to
     * propagate. */
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
    return envelope->text ? PAWL_OK : envelope_no_memory(err);
}

pawl_status pawli_envelope_encode(const pawl_message *message, const pawli_envelope_options *given,
                                  pawl_envelope **ret_envelope, pawl_error *err)
{
    pawli_envelope_options opts = PAWLI_ENVELOPE_OPTIONS_INIT;
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
        return envelope_no_memory(err);
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

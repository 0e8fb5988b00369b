/* src/transport/envelope.c - an envelope: reading its fields, freeing it. */
#include "envelope.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fail.h"

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
        return pawli_fail(err, PAWL_E_NOMEM, "no memory for an envelope");
    *ret_copy = copy;
    return PAWL_OK;
}

void pawli_envelope_borrow(const pawl_envelope *envelope)
{
    /* Only the count changes, which nobody sees. */
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

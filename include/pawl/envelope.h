/* include/pawl/envelope.h - a message as it travels between services: one JSON object.
 *
 * Part of libpawl-net. docs/wire.md describes it for people who write a peer.
 */
#ifndef PAWL_ENVELOPE_H
#define PAWL_ENVELOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/clock.h>
#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/message.h>

PAWL_BEGIN_DECLS

struct pawl_secrets;

/* Made from a message to be sent, or from bytes that have come. Never changes; opaque. */
typedef struct pawl_envelope pawl_envelope;

#define PAWL_SOURCE_MAX 255        /* characters of a sourceServiceId */
#define PAWL_ENVELOPE_ID_MAX 255   /* characters of a messageId */
#define PAWL_ENVELOPE_DEPTH_MAX 64 /* of objects and arrays, the envelope being the first */
#define PAWL_ENVELOPE_MAX_BYTES ((size_t)16 * 1024 * 1024) /* unless the caller says otherwise */

/* ---- sending ---- */

typedef struct pawl_envelope_options {
    size_t size;        /* set by PAWL_ENVELOPE_OPTIONS_INIT, never by hand */
    const char *source; /* required: sourceServiceId, 1 .. 255 characters, none of them a control */
    const struct pawl_secrets *secrets; /* NULL or none in it: not signed */
    int scheme;                         /* PAWL_SCHEME_2, or 1 for a peer that knows no other */
    int attempt;                        /* rf-attempt; 0: sends so far + 1 */
    pawl_wall now;                      /* rf-timestamp; PAWL_NEVER: this machine's clock */
} pawl_envelope_options;
#define PAWL_ENVELOPE_OPTIONS_INIT                                                                 \
    {                                                                                              \
        sizeof(pawl_envelope_options), NULL, NULL, 2, 0,                                           \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/**
 * Put a message into an envelope, signed.
 *
 * The topic travels as `endpoint`. A payload that is JSON is embedded byte for byte; any other (and
 * JSON with white space around it, or nested too deeply) as base64, with rf-payload-encoding saying
 * so. The message's own headers travel as they are, but those that begin with "rf-" are left out:
 * they belong to the envelope.
 *
 * Ownership: *ret_envelope is the caller's (pawl_envelope_free); untouched on failure. Everything
 *            is copied.
 * Threads:   any.
 * Blocks:    no.
 * Durable:   nothing is written.
 * Errors:    PAWL_E_INVALID (source, scheme, or headers that are not a JSON object), PAWL_E_NOMEM.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_envelope_encode(const pawl_message *message,
                                                          const pawl_envelope_options *opts,
                                                          pawl_envelope **ret_envelope,
                                                          pawl_error *err);

/* ---- receiving ---- */

/**
 * Read an envelope. The signature is not looked at: see pawl_signature_check().
 *
 * Strict: JSON in UTF-8, no name twice in the envelope or its headers, no deeper than
 * PAWL_ENVELOPE_DEPTH_MAX, every field of its type and length, rf-version 2.x. Fields that it does
 * not know are passed over.
 *
 * Ownership: *ret_envelope is the caller's (pawl_envelope_free); untouched on failure. `text` is
 *            copied and may be anything, of any origin.
 * Threads:   any.
 * Blocks:    no.
 * Durable:   nothing is written.
 * Errors:    PAWL_E_INVALID (the message says what is wrong, without repeating the input),
 *            PAWL_E_TOO_LARGE (more than `max_bytes`; 0: PAWL_ENVELOPE_MAX_BYTES), PAWL_E_NOMEM.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_envelope_decode(const void *text, size_t size,
                                                          size_t max_bytes,
                                                          pawl_envelope **ret_envelope,
                                                          pawl_error *err);

/* ---- reading; everything is borrowed from the envelope ---- */

/* The JSON itself; followed by a zero byte that is not counted in *ret_size (may be NULL). */
PAWL_API const char *pawl_envelope_text(const pawl_envelope *envelope, size_t *ret_size);
/* messageId as it was written: the sender's choice, not always a UUID. */
PAWL_API const char *pawl_envelope_id(const pawl_envelope *envelope);
PAWL_API const char *pawl_envelope_source(const pawl_envelope *envelope);
PAWL_API const char *pawl_envelope_endpoint(const pawl_envelope *envelope);
PAWL_API pawl_type pawl_envelope_type(const pawl_envelope *envelope);
PAWL_API const char *pawl_envelope_correlation_id(const pawl_envelope *envelope); /* may be NULL */
/*
 * The sender's exact bytes, base64 undone: what was hashed. Never NULL; followed by a zero byte
 * that is not counted in *ret_size (may be NULL).
 */
PAWL_API const void *pawl_envelope_payload(const pawl_envelope *envelope, size_t *ret_size);
/* Whether the payload came as JSON, not as base64. */
PAWL_API bool pawl_envelope_payload_is_json(const pawl_envelope *envelope);
/* SHA-256 over the payload's bytes: 32 of them. */
PAWL_API const uint8_t *pawl_envelope_payload_hash(const pawl_envelope *envelope);
/* The sender's own headers as a JSON object, without those that begin with "rf-"; NULL: none. */
PAWL_API const char *pawl_envelope_headers(const pawl_envelope *envelope);
PAWL_API const char *pawl_envelope_version(const pawl_envelope *envelope);   /* rf-version */
PAWL_API const char *pawl_envelope_timestamp(const pawl_envelope *envelope); /* rf-timestamp */
PAWL_API const char *pawl_envelope_hmac(const pawl_envelope *envelope); /* rf-hmac; may be NULL */
/* rf-attempt: 1 for the first; 0: the sender did not say. */
PAWL_API int pawl_envelope_attempt(const pawl_envelope *envelope);
/* The own headers of these names, if they are strings; else NULL. */
PAWL_API const char *pawl_envelope_traceparent(const pawl_envelope *envelope);
PAWL_API const char *pawl_envelope_tracestate(const pawl_envelope *envelope);

PAWL_API void pawl_envelope_free(pawl_envelope *envelope); /* NULL is fine */

/* "Signal", "Command", "PushCall", "Response": the type's name on the wire. Never NULL. */
PAWL_API const char *pawl_type_wire_name(pawl_type type);

PAWL_END_DECLS

#endif

/* include/pawl/envelope.h - the envelope: a message as a JSON object, as it is sent between
 * services.
 *
 * Part of libpawl-net. docs/wire.md describes the format for anyone implementing a peer.
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

/* Encoded from a message to send, or decoded from received bytes. Immutable; opaque. */
typedef struct pawl_envelope pawl_envelope;

#define PAWL_SOURCE_MAX 255        /* characters of a sourceServiceId */
#define PAWL_ENVELOPE_ID_MAX 255   /* characters of a messageId */
#define PAWL_ENVELOPE_DEPTH_MAX 64 /* of objects and arrays, including the envelope itself */
#define PAWL_ENVELOPE_MAX_BYTES ((size_t)16 * 1024 * 1024) /* unless the caller says otherwise */

/* ---- receiving ---- */

/**
 * Decodes an envelope. It does not check the signature: only a receiver does (receiver.h).
 *
 * Strict: JSON in UTF-8, no duplicate names in the envelope or its headers, no deeper than
 * PAWL_ENVELOPE_DEPTH_MAX, every field of the right type and length, rf-version 2.x. Unknown fields
 * are ignored.
 *
 * Ownership: *ret_envelope is the caller's (pawl_envelope_free); untouched on failure. `text` is
 *            copied and may be untrusted.
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
/* messageId as sent: the sender's choice, not necessarily a UUID. */
PAWL_API const char *pawl_envelope_id(const pawl_envelope *envelope);
PAWL_API const char *pawl_envelope_source(const pawl_envelope *envelope);
PAWL_API const char *pawl_envelope_endpoint(const pawl_envelope *envelope);
PAWL_API pawl_type pawl_envelope_type(const pawl_envelope *envelope);
PAWL_API const char *pawl_envelope_correlation_id(const pawl_envelope *envelope); /* may be NULL */
/*
 * The sender's exact bytes, with base64 decoded; the hash covers these. Never NULL; followed by a
 * zero byte that is not counted in *ret_size (may be NULL).
 */
PAWL_API const void *pawl_envelope_payload(const pawl_envelope *envelope, size_t *ret_size);
/* Whether the payload was sent as JSON rather than base64. */
PAWL_API bool pawl_envelope_payload_is_json(const pawl_envelope *envelope);
/* SHA-256 of the payload's bytes: 32 bytes. */
PAWL_API const uint8_t *pawl_envelope_payload_hash(const pawl_envelope *envelope);
/* The sender's own headers as a JSON object, without those that start with "rf-"; NULL: none. */
PAWL_API const char *pawl_envelope_headers(const pawl_envelope *envelope);
PAWL_API const char *pawl_envelope_version(const pawl_envelope *envelope);   /* rf-version */
PAWL_API const char *pawl_envelope_timestamp(const pawl_envelope *envelope); /* rf-timestamp */
PAWL_API const char *pawl_envelope_hmac(const pawl_envelope *envelope); /* rf-hmac; may be NULL */
/* rf-attempt: 1 for the first; 0: not given by the sender. */
PAWL_API int pawl_envelope_attempt(const pawl_envelope *envelope);
/* The sender's headers of these names, if they are strings; otherwise NULL. */
PAWL_API const char *pawl_envelope_traceparent(const pawl_envelope *envelope);
PAWL_API const char *pawl_envelope_tracestate(const pawl_envelope *envelope);

PAWL_API void pawl_envelope_free(pawl_envelope *envelope); /* NULL is allowed */

/* "Signal", "Command", "PushCall", "Response": the type's name on the wire. Never NULL. */
PAWL_API const char *pawl_type_wire_name(pawl_type type);

PAWL_END_DECLS

#endif

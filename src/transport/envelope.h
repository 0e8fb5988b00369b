/* src/transport/envelope.h - the internals of an envelope, for encoding and decoding. */
#ifndef PAWLI_ENVELOPE_H
#define PAWLI_ENVELOPE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/envelope.h>

#include "arena.h"
#include "hash.h"
#include "json_scan.h"
#include "scope.h"
#include "signature.h"

struct pawl_envelope {
    atomic_size_t borrowers; /* references besides its owner's */
    pawli_arena arena;       /* everything except `text` */
    char *text;
    size_t text_size;
    const char *id;
    const char *source;
    const char *endpoint;
    const char *correlation_id;
    pawl_type type;
    const char *payload;
    size_t payload_size;
    bool payload_is_json;
    uint8_t payload_hash[PAWLI_SHA256_SIZE];
    const char *headers;
    const char *version;
    const char *timestamp;
    const char *hmac;
    int attempt;
    const char *traceparent;
    const char *tracestate;
};
PAWLI_AUTO_DEFINE(pawl_envelope, pawl_envelope_free);

typedef struct pawli_envelope_options {
    size_t size;        /* set by PAWLI_ENVELOPE_OPTIONS_INIT, never by hand */
    const char *source; /* required: sourceServiceId, 1 .. 255 characters, no control characters */
    const pawli_secrets *secrets; /* NULL or empty: not signed */
    int scheme;                   /* PAWL_SCHEME_2, or 1 for a peer that supports no other */
    int attempt;                  /* rf-attempt; 0: sends so far + 1 */
    pawl_wall now;                /* rf-timestamp; PAWL_TIME_UNSET: this machine's clock */
} pawli_envelope_options;
#define PAWLI_ENVELOPE_OPTIONS_INIT                                                                \
    {                                                                                              \
        sizeof(pawli_envelope_options), NULL, NULL, 2, 0,                                          \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/**
 * Encodes and signs a message as an envelope.
 *
 * The topic is sent as `endpoint`. A payload that is JSON is embedded byte for byte; any other
 * payload (and JSON with surrounding white space, or nested too deeply) is sent as base64, marked
 * by rf-payload-encoding. The message's own headers are sent unchanged, except that those starting
 * with "rf-" are omitted: they belong to the envelope.
 *
 * Ownership: *ret_envelope is the caller's (pawl_envelope_free); untouched on failure. Everything
 *            is copied.
 * Threads:   any.
 * Blocks:    no.
 * Durable:   nothing is written.
 * Errors:    PAWL_E_INVALID (source, scheme, or headers that are not a JSON object), PAWL_E_NOMEM.
 */
PAWL_MUST_CHECK pawl_status pawli_envelope_encode(const pawl_message *message,
                                                  const pawli_envelope_options *opts,
                                                  pawl_envelope **ret_envelope, pawl_error *err);

/*
 * Keeps it alive beyond its owner's pawl_envelope_free(), until pawl_envelope_free() is called once
 * more. Any thread. For a receiver in this process whose sender may have cancelled the send.
 */
void pawli_envelope_borrow(const pawl_envelope *envelope);

#define PAWLI_RF_VERSION "2.0"
/* The depth left for a payload or the headers inside the envelope. */
#define PAWLI_PAYLOAD_DEPTH (PAWL_ENVELOPE_DEPTH_MAX - 1)

/* Whether a header of this name, written without escapes, belongs to the envelope. */
bool pawli_header_is_reserved(pawli_span name);
/*
 * Whether it has characters 0x00 to 0x1f or 0x7f, which are not allowed in a name that is logged.
 */
bool pawli_has_controls(const char *text);
/* Converts a wire name; false: there is no such type. */
bool pawli_type_from_wire(const char *name, pawl_type *ret_type);
/* Makes a copy that lives as long as the envelope; NULL stays NULL. PAWL_E_NOMEM. */
pawl_status pawli_envelope_keep(pawl_envelope *envelope, const char *text, const char **ret_copy,
                                pawl_error *err);

#endif

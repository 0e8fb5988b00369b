/* include/pawl/signature.h - message signatures: HMAC-SHA256 with secrets per peer.
 *
 * Part of libpawl-net. docs/wire.md specifies the signed bytes.
 */
#ifndef PAWL_SIGNATURE_H
#define PAWL_SIGNATURE_H

#include <stddef.h>
#include <stdint.h>

#include <pawl/clock.h>
#include <pawl/envelope.h>
#include <pawl/error.h>
#include <pawl/export.h>

PAWL_BEGIN_DECLS

/* ---- the secrets shared with one peer ---- */

/*
 * A list of secrets. The first one signs; all of them are accepted. To rotate: add the new secret
 * last on both sides, then move it first on both sides, then remove the old one. Secrets are wiped
 * from memory when freed, and never appear in error messages or log records.
 */
typedef struct pawl_secrets pawl_secrets;

#define PAWL_SECRET_MIN 16 /* bytes */
#define PAWL_SECRET_MAX 4096
#define PAWL_SECRETS_MAX 16 /* per peer */

/* Creates an empty list. *ret_secrets is the caller's (pawl_secrets_free). */
PAWL_API PAWL_EXPERIMENTAL PAWL_MUST_CHECK pawl_status pawl_secrets_new(pawl_secrets **ret_secrets,
                                                                        pawl_error *err);

/* Adds exactly these bytes, copied. PAWL_E_INVALID: shorter or longer than allowed. */
PAWL_API PAWL_EXPERIMENTAL PAWL_MUST_CHECK pawl_status pawl_secrets_add(pawl_secrets *secrets,
                                                                        const void *bytes,
                                                                        size_t size,
                                                                        pawl_error *err);

/**
 * Adds the secret stored at `place`: "file:/etc/pawl/orders.secret" or "env:ORDERS_SECRET".
 * Trailing line ends are removed. Text that starts with "base64:" is decoded, any other text is
 * used as it is: `openssl rand -base64 32 > FILE` creates a good one.
 *
 * Ownership: `place` is read during the call.
 * Threads:   one at a time. The environment must not be changed meanwhile.
 * Blocks:    reads the file now; a later change of the file affects only a new pawl_secrets.
 * Durable:   nothing is written.
 * Errors:    PAWL_E_INVALID (neither "file:" nor "env:", too short, too long, bad base64),
 *            PAWL_E_NOT_FOUND (no such file or variable), PAWL_E_DENIED (the file cannot be read;
 *            or it is readable or writable by all users: chmod o-rwx), PAWL_E_IO, PAWL_E_NOMEM.
 */
PAWL_API PAWL_EXPERIMENTAL PAWL_MUST_CHECK pawl_status pawl_secrets_load(pawl_secrets *secrets,
                                                                         const char *place,
                                                                         pawl_error *err);

PAWL_API PAWL_EXPERIMENTAL size_t pawl_secrets_count(const pawl_secrets *secrets); /* NULL: 0 */
PAWL_API PAWL_EXPERIMENTAL void
pawl_secrets_free(pawl_secrets *secrets); /* NULL is allowed; wipes them */

/* ---- verifying received envelopes ---- */

/*
 * Scheme 2 signs the version, the time, both ids, source, type, endpoint and the payload's hash,
 * each with its length. Scheme 1 signs messageId + sourceServiceId + endpoint + payload hash,
 * concatenated, and not the time, so it cannot reject old messages: for peers that support nothing
 * else.
 */
#define PAWL_SCHEME_1 1
#define PAWL_SCHEME_2 2

#define PAWL_REPLAY_WINDOW_MS 300000

typedef struct pawl_signature_options {
    size_t size;       /* set by PAWL_SIGNATURE_OPTIONS_INIT, never by hand */
    int scheme;        /* 2: only scheme 2 is accepted. 1: scheme 1 is accepted as well */
    int64_t window_ms; /* how far rf-timestamp may differ from `now`, both ways; 1 s .. 24 h */
    pawl_wall now;     /* PAWL_TIME_UNSET: this machine's clock */
} pawl_signature_options;
#define PAWL_SIGNATURE_OPTIONS_INIT                                                                \
    {                                                                                              \
        sizeof(pawl_signature_options), PAWL_SCHEME_2, PAWL_REPLAY_WINDOW_MS,                      \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/**
 * Checks that the envelope was signed with one of these secrets, and recently enough.
 *
 * pawl_envelope_encode() does the signing.
 *
 * Ownership: nothing is kept. `opts` may be NULL: defaults.
 * Threads:   any; `secrets` may be shared by threads as long as none adds to it.
 * Blocks:    no. Signatures are compared in constant time.
 * Durable:   nothing is written.
 * Errors:    PAWL_E_DENIED: there is no signature, no secret to check it with, the signature is
 *            wrong, or its time is outside the window. The message says which, for the receiver's
 *            own log; the sender gets a plain 401. PAWL_E_INVALID (options), PAWL_E_NOMEM.
 */
PAWL_API PAWL_EXPERIMENTAL PAWL_MUST_CHECK pawl_status
pawl_signature_check(const pawl_envelope *envelope, const pawl_secrets *secrets,
                     const pawl_signature_options *opts, pawl_error *err);

PAWL_END_DECLS

#endif

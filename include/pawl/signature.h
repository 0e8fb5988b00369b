/* include/pawl/signature.h - who sent this message: HMAC-SHA256 with a secret per peer.
 *
 * Part of libpawl-net. docs/wire.md says byte by byte what is signed.
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

/* ---- the secrets that are shared with one peer ---- */

/*
 * The first signs; each of them is accepted. To rotate: add the new one last on both sides, then
 * put it first on both sides, then take the old one away. They are wiped from memory when freed,
 * and no error message or log record contains one.
 */
typedef struct pawl_secrets pawl_secrets;

#define PAWL_SECRET_MIN 16 /* bytes */
#define PAWL_SECRET_MAX 4096
#define PAWL_SECRETS_MAX 16 /* of one peer */

/* None yet. *ret_secrets is the caller's (pawl_secrets_free). */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_secrets_new(pawl_secrets **ret_secrets, pawl_error *err);

/* Exactly these bytes, copied. PAWL_E_INVALID: shorter or longer than a secret may be. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_secrets_add(pawl_secrets *secrets, const void *bytes,
                                                      size_t size, pawl_error *err);

/**
 * Add the secret that is found at `place`: "file:/etc/pawl/orders.secret" or "env:ORDERS_SECRET".
 * Line ends after it do not count. Text that begins with "base64:" is decoded, any other is the
 * secret as it stands: `openssl rand -base64 32 > FILE` makes a good one.
 *
 * Ownership: `place` is read during the call.
 * Threads:   one at a time. The environment must not be changed meanwhile.
 * Blocks:    reads the file now; a changed file is seen by the next pawl_secrets.
 * Durable:   nothing is written.
 * Errors:    PAWL_E_INVALID (neither "file:" nor "env:", too short, too long, bad base64),
 *            PAWL_E_NOT_FOUND (no such file or variable), PAWL_E_DENIED (the file cannot be read;
 *            or everybody may read or change it: chmod o-rwx), PAWL_E_IO, PAWL_E_NOMEM.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_secrets_load(pawl_secrets *secrets, const char *place,
                                                       pawl_error *err);

PAWL_API size_t pawl_secrets_count(const pawl_secrets *secrets); /* NULL: 0 */
PAWL_API void pawl_secrets_free(pawl_secrets *secrets);          /* NULL is fine; wipes them */

/* ---- checking what has come ---- */

/*
 * 2 signs the version, the time, both ids, source, type, endpoint and the payload's hash, each with
 * its length. 1 signs messageId + sourceServiceId + endpoint + payload hash, run together, and not
 * the time, so that it cannot refuse what is old: for peers that know nothing else.
 */
#define PAWL_SCHEME_1 1
#define PAWL_SCHEME_2 2

#define PAWL_REPLAY_WINDOW_MS 300000

typedef struct pawl_signature_options {
    size_t size;       /* set by PAWL_SIGNATURE_OPTIONS_INIT, never by hand */
    int scheme;        /* 2: nothing else is accepted. 1: scheme 1 is accepted as well */
    int64_t window_ms; /* how far rf-timestamp may be from `now`, both ways; 1 s .. 24 h */
    pawl_wall now;     /* PAWL_NEVER: this machine's clock */
} pawl_signature_options;
#define PAWL_SIGNATURE_OPTIONS_INIT                                                                \
    {                                                                                              \
        sizeof(pawl_signature_options), PAWL_SCHEME_2, PAWL_REPLAY_WINDOW_MS,                      \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/**
 * Was this envelope signed with one of these secrets, and lately enough?
 *
 * Signing is a part of pawl_envelope_encode().
 *
 * Ownership: nothing is kept. `opts` may be NULL: defaults.
 * Threads:   any; `secrets` may be shared by threads as long as none adds to it.
 * Blocks:    no. Comparing takes the same time wherever two signatures differ.
 * Durable:   nothing is written.
 * Errors:    PAWL_E_DENIED: there is no signature, or no secret to check it with, or it is not the
 *            right one, or its time is too far away. The message says which, for the receiver's own
 *            log; the sender gets a plain 401. PAWL_E_INVALID (options), PAWL_E_NOMEM.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_signature_check(const pawl_envelope *envelope,
                                                          const pawl_secrets *secrets,
                                                          const pawl_signature_options *opts,
                                                          pawl_error *err);

PAWL_END_DECLS

#endif

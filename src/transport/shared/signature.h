/* src/transport/shared/signature.h - message signatures: HMAC-SHA256 with secrets per peer.
 *
 * docs/wire.md specifies the signed bytes.
 */
#ifndef PAWLI_SIGNATURE_H
#define PAWLI_SIGNATURE_H

#include <stddef.h>
#include <stdint.h>

#include <pawl/clock.h>
#include <pawl/envelope.h>
#include <pawl/error.h>
#include <pawl/services.h>

/* ---- the secrets shared with one peer ---- */

/*
 * A list of secrets. The first one signs; all of them are accepted. To rotate: add the new secret
 * last on both sides, then move it first on both sides, then remove the old one. Secrets are wiped
 * from memory when freed, and never appear in error messages or log records.
 */
typedef struct pawli_secrets pawli_secrets;

/* Creates an empty list. *ret_secrets is the caller's (pawli_secrets_free). */
PAWL_MUST_CHECK pawl_status pawli_secrets_new(pawli_secrets **ret_secrets, pawl_error *err);

/* Adds exactly these bytes, copied. PAWL_E_INVALID: shorter or longer than allowed. */
PAWL_MUST_CHECK pawl_status pawli_secrets_add(pawli_secrets *secrets, const void *bytes,
                                              size_t size, pawl_error *err);

/* Adds the secret stored at `place`, as pawl_secret_check() reads it, with its errors. */
PAWL_MUST_CHECK pawl_status pawli_secrets_load(pawli_secrets *secrets, const char *place,
                                               pawl_error *err);

size_t pawli_secrets_count(const pawli_secrets *secrets); /* NULL: 0 */
void pawli_secrets_free(pawli_secrets *secrets);          /* NULL is allowed; wipes them */

/* Never NULL; may be empty. */
const pawli_secrets *pawli_service_secrets(const pawl_service *service);

/* ---- verifying received envelopes ---- */

typedef struct pawli_signature_options {
    size_t size;       /* set by PAWLI_SIGNATURE_OPTIONS_INIT, never by hand */
    int scheme;        /* 2: only scheme 2 is accepted. 1: scheme 1 is accepted as well */
    int64_t window_ms; /* how far rf-timestamp may differ from `now`, both ways; 1 s .. 24 h */
    pawl_wall now;     /* PAWL_TIME_UNSET: this machine's clock */
} pawli_signature_options;
#define PAWLI_SIGNATURE_OPTIONS_INIT                                                               \
    {                                                                                              \
        sizeof(pawli_signature_options), PAWL_SCHEME_2, PAWL_REPLAY_WINDOW_MS,                     \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/**
 * Checks that the envelope was signed with one of these secrets, and recently enough.
 *
 * pawli_envelope_encode() does the signing.
 *
 * Ownership: nothing is kept. `opts` may be NULL: defaults.
 * Threads:   any; `secrets` may be shared by threads as long as none adds to it.
 * Blocks:    no. Signatures are compared in constant time.
 * Durable:   nothing is written.
 * Errors:    PAWL_E_DENIED: there is no signature, no secret to check it with, the signature is
 *            wrong, or its time is outside the window. The message says which, for the receiver's
 *            own log; the sender gets a plain 401. PAWL_E_INVALID (options), PAWL_E_NOMEM.
 */
PAWL_MUST_CHECK pawl_status pawli_signature_check(const pawl_envelope *envelope,
                                                  const pawli_secrets *secrets,
                                                  const pawli_signature_options *opts,
                                                  pawl_error *err);

#endif

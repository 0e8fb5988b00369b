/* src/transport/sign.h - computing signatures; docs/wire.md specifies the signed bytes. */
#ifndef PAWLI_SIGN_H
#define PAWLI_SIGN_H

#include <stdbool.h>
#include <stdint.h>

#include "hmac.h"
#include "secrets.h"
#include "signature.h"

/* Base64 of a signature, terminated. */
#define PAWLI_SIGNATURE_TEXT_SIZE 45

typedef struct pawli_signed {
    const char *version;
    const char *timestamp;
    const char *id;
    const char *source;
    const char *type;
    const char *endpoint;
    const char *correlation_id; /* NULL: none, signed as "" */
    const uint8_t *payload_hash;
} pawli_signed;

/* `scheme` is 1 or 2. PAWL_E_NOMEM. */
pawl_status pawli_sign(const pawli_signed *what, int scheme, const pawli_secret *secret,
                       uint8_t ret_code[PAWLI_HMAC_SIZE], pawl_error *err);
/* The same as text, for rf-hmac. */
pawl_status pawli_sign_text(const pawli_signed *what, int scheme, const pawli_secret *secret,
                            char ret_text[PAWLI_SIGNATURE_TEXT_SIZE], pawl_error *err);

#endif

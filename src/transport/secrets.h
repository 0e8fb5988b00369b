/* src/transport/secrets.h - the internals of pawli_secrets, for signing. */
#ifndef PAWLI_SECRETS_H
#define PAWLI_SECRETS_H

#include <stddef.h>
#include <stdint.h>

#include "signature.h"

typedef struct pawli_secret {
    uint8_t *bytes;
    size_t size;
} pawli_secret;

struct pawli_secrets {
    size_t count;
    pawli_secret items[PAWL_SECRETS_MAX];
};

#endif

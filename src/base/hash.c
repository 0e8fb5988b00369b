/* src/base/hash.c - SHA-256, by libcrypto. */
#include "hash.h"

#include <openssl/evp.h>

bool pawli_sha256(const void *bytes, size_t size, uint8_t ret_hash[PAWLI_SHA256_SIZE])
{
    return EVP_Digest(size > 0 ? bytes : "", size, ret_hash, NULL, EVP_sha256(), NULL) == 1;
}

/* src/base/hash.c - SHA-256 and HMAC-SHA256, using libcrypto. */
#include "hash.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "hmac.h"

/* ---- SHA-256 ---- */

bool pawli_sha256(const void *bytes, size_t size, uint8_t ret_hash[PAWLI_SHA256_SIZE])
{
    return EVP_Digest(size > 0 ? bytes : "", size, ret_hash, NULL, EVP_sha256(), NULL) == 1;
}

/* ---- HMAC-SHA256 ---- */

bool pawli_hmac_sha256(const void *key, size_t key_size, const void *bytes, size_t size,
                       uint8_t ret_code[PAWLI_HMAC_SIZE])
{
    unsigned written = 0;

    return HMAC(EVP_sha256(), key, (int)key_size, size > 0 ? bytes : (const void *)"", size,
                ret_code, &written) != NULL &&
           written == PAWLI_HMAC_SIZE;
}

bool pawli_memeq_consttime(const void *one, const void *other, size_t size)
{
    return CRYPTO_memcmp(one, other, size) == 0;
}

void pawli_wipe(void *bytes, size_t size)
{
    OPENSSL_cleanse(bytes, size);
}

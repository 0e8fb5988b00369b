/* src/base/hmac.h - HMAC-SHA256, and comparison in constant time. */
#ifndef PAWLI_HMAC_H
#define PAWLI_HMAC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAWLI_HMAC_SIZE 32

/* False: out of memory. */
bool pawli_hmac_sha256(const void *key, size_t key_size, const void *bytes, size_t size,
                       uint8_t ret_code[PAWLI_HMAC_SIZE]);
/* Compares in constant time. */
bool pawli_memeq_consttime(const void *one, const void *other, size_t size);
/* Overwrites memory in a way that the compiler cannot optimize away. */
void pawli_wipe(void *bytes, size_t size);

#endif

/* src/base/hash.h - SHA-256. */
#ifndef PAWLI_HASH_H
#define PAWLI_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAWLI_SHA256_SIZE 32

/* Hashes exactly these bytes. False: out of memory. */
bool pawli_sha256(const void *bytes, size_t size, uint8_t ret_hash[PAWLI_SHA256_SIZE]);

#endif

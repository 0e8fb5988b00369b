/* tests/fuzz/fuzz.h - what libFuzzer and replay_corpus.c call; aborts when a promise is broken. */
#ifndef PAWL_TEST_FUZZ_H
#define PAWL_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif

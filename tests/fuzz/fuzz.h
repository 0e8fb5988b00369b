/* tests/fuzz/fuzz.h - entry points for libFuzzer and replay_corpus.c; aborts when a check fails. */
#ifndef PAWL_TEST_FUZZ_H
#define PAWL_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif

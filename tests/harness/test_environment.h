/* tests/harness/test_environment.h - how much a run is to do, and from which seed on. */
#ifndef PAWL_TEST_ENVIRONMENT_H
#define PAWL_TEST_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

/* PAWL_TEST_WHOLE=1, which scripts/proof sets: every point, every round. */
bool test_whole(void);
/* `whole` in such a run, else `reduced`. */
long test_choose(long reduced, long whole);
/* 1 in such a run, else `reduced`; use a prime, so that in the end every kind of place is met. */
long test_stride(long reduced);
/* The number in this environment variable, or `otherwise`. */
uint64_t test_setting(const char *name, uint64_t otherwise);
/* PAWL_TEST_SEED, or one that changes with the time; it is printed. */
unsigned test_seed(void);

/* Milliseconds of a clock that only goes forward. */
int64_t test_clock_ms(void);

#endif

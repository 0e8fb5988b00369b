/* tests/scenario/prng.h - pseudo-random numbers: the same for the same seed, on every machine. */
#ifndef PAWL_SCENARIO_PRNG_H
#define PAWL_SCENARIO_PRNG_H

#include <stddef.h>
#include <stdint.h>

/* splitmix64. */
static inline uint64_t prng_next(uint64_t *state)
{
    uint64_t x = (*state += UINT64_C(0x9e3779b97f4a7c15));

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* 0 .. bound - 1. */
static inline size_t prng_below(uint64_t *state, size_t bound)
{
    return (size_t)(prng_next(state) % bound);
}

#endif

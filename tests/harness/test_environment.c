/* tests/harness/test_environment.c - how much a run is to do, and from which seed on. */
#include "test_environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

uint64_t test_setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

bool test_whole(void)
{
    return test_setting("PAWL_TEST_WHOLE", 0) != 0;
}

long test_choose(long reduced, long whole)
{
    return test_whole() ? whole : reduced;
}

long test_stride(long reduced)
{
    return test_choose(reduced, 1);
}

unsigned test_seed(void)
{
    unsigned seed = (unsigned)test_setting("PAWL_TEST_SEED", (uint64_t)time(NULL));

    printf("# seed %u\n", seed);
    return seed;
}

int64_t test_clock_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

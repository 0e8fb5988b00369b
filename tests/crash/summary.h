/* tests/crash/summary.h - what the test programs of this folder have in common. */
#ifndef PAWL_CRASH_SUMMARY_H
#define PAWL_CRASH_SUMMARY_H

#include <stdlib.h>

#include "campaign.h"
#include "test.h"

/* PAWL_TEST_WHOLE=1: every operation and every kind of loss, as `make proof` asks for. */
static inline bool summary_whole(void)
{
    const char *text = getenv("PAWL_TEST_WHOLE");

    return text && strcmp(text, "1") == 0;
}

static inline void summary_print(const char *what, const campaign_result *result)
{
    printf("# %s: %ld operations, %ld crash points, %ld violations\n", what, result->operations,
           result->points, result->violations);
}

#endif

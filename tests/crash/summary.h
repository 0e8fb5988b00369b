/* tests/crash/summary.h - what the test programs of this folder have in common. */
#ifndef PAWL_CRASH_SUMMARY_H
#define PAWL_CRASH_SUMMARY_H

#include <stdio.h>

#include "campaign.h"
#include "test.h"

static inline void summary_print(const char *what, const campaign_result *result)
{
    printf("# %s: %ld operations, %ld crash points, %ld violations\n", what, result->operations,
           result->points, result->violations);
}

static inline void summary_expect_none(const campaign_result *result)
{
    if (result->violations > 0)
        test_fail("%ld violations; the first: %s", result->violations, result->first);
}

#endif

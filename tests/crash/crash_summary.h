/* tests/crash/crash_summary.h - helpers shared by the test programs of this folder. */
#ifndef PAWL_CRASH_SUMMARY_H
#define PAWL_CRASH_SUMMARY_H

#include <stdio.h>

#include "crash_campaign.h"
#include "test.h"

static inline void summary_print(const char *what, const crash_campaign_result *result)
{
    printf("# %s: %ld operations, %ld crash points, %ld violations\n", what, result->operations,
           result->points, result->violations);
}

static inline void summary_expect_none(const crash_campaign_result *result)
{
    if (result->violations > 0)
        test_fail("%ld violations; the first: %s", result->violations, result->first);
}

/* For a scenario of a test's own: power_loss.h. */
static inline void summary_expect_survival(const char *what, const crash_campaign_result *result)
{
    summary_print(what, result);
    summary_expect_none(result);
    assert_true(result->operations > 40);
}

#endif

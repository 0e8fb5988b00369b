/*
 * tests/harness/activity.h - waiting until something is true that other threads bring about.
 *
 * Whoever brings something about reports it: the log of every fixture, workers with the observer of
 * tests/worker, counters, handlers. A wait ends as soon as that makes its condition true. What
 * nobody can report, such as a row that another process writes, is looked at again every 10 ms.
 */
#ifndef PAWL_TEST_ACTIVITY_H
#define PAWL_TEST_ACTIVITY_H

#include <stdbool.h>
#include <stdint.h>

#include "test_environment.h"

#define ACTIVITY_PATIENCE_MS 60000

/* Something has changed. Any thread. */
void activity_report(void);
/* To be read before the condition is looked at; then wait for more than `seen`, or for 10 ms. */
uint64_t activity_count(void);
void activity_await(uint64_t seen);

/* Until the condition is true, or a minute has passed. Any thread. */
#define activity_wait(condition)                                                                   \
    do {                                                                                           \
        int64_t end_ms_ = test_clock_ms() + ACTIVITY_PATIENCE_MS;                                  \
        for (uint64_t seen_ = activity_count(); !(condition) && test_clock_ms() <= end_ms_;        \
             seen_ = activity_count())                                                             \
            activity_await(seen_);                                                                 \
    } while (0)

/* The same; the test fails after a minute. On the test's own thread. */
#define until(condition)                                                                           \
    do {                                                                                           \
        int64_t end_ms_ = test_clock_ms() + ACTIVITY_PATIENCE_MS;                                  \
        for (uint64_t seen_ = activity_count(); !(condition); seen_ = activity_count()) {          \
            if (test_clock_ms() > end_ms_)                                                         \
                test_fail("in vain: %s", #condition);                                              \
            activity_await(seen_);                                                                 \
        }                                                                                          \
    } while (0)

#endif

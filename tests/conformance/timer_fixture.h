/* tests/conformance/timer_fixture.h - every scheduling strategy with a clock that tests move. */
#ifndef PAWL_TEST_TIMERS_H
#define PAWL_TEST_TIMERS_H

#include "queue_fixture.h"

typedef struct timers {
    const char *name;
    pawl_scheduler *scheduler;
    pawl_store *store; /* NULL: the strategy has none */
    fixture *f;        /* NULL: the store, if there is one, is in memory */
    pawl_wall now;     /* where no other part keeps it */
} timers;

/*
 * The same test for every strategy that this engine's run is for: those without a database and
 * SQLite's with SQLite, and a store in PostgreSQL. The strategy is printed before its run.
 */
#define TIMER_TEST(test_name)                                                                      \
    static void test_name##_body(timers *t);                                                       \
    PAWL_TEST(test_name)                                                                           \
    {                                                                                              \
        timers_each(test_name##_body);                                                             \
    }                                                                                              \
    static void test_name##_body(timers *t)
void timers_each(void (*body)(timers *t));
/* Only the store in a database of its own. */
timers *timers_on_store(void);

void timers_advance(timers *t, int64_t ms);

/* Schedule, any failure ends the test. */
pawl_enqueued timers_schedule(timers *t, const pawl_message_spec *message);
pawl_enqueued timers_after(timers *t, const char *topic, const char *payload, int64_t delay_ms);
/* Let up to `limit` due ones be delivered; their payloads in order, "a b c". */
const char *timers_deliver(timers *t, int limit);
/* The payloads of what is pending, in order; `given` may be NULL. */
const char *timers_pending(timers *t, const pawl_timer_filter *given);
int64_t timers_count(timers *t, const pawl_timer_filter *query);
pawl_state timers_state(timers *t, pawl_uuid id);
size_t timers_cancel(timers *t, pawl_uuid id);

#endif

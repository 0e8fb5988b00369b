/* tests/unit/timer_threads_test.c - the strategy in memory, used by many threads at once. */
#include <stdatomic.h>
#include <string.h>

#include "test.h"

#define THREADS 8
#define EACH 2000
#define TAKERS 4 /* of the threads; the others schedule and cancel */

typedef struct shared {
    pawl_scheduler *scheduler;
    atomic_int taken[THREADS * EACH];
    atomic_int cancelled[THREADS * EACH];
    atomic_int scheduling;
} shared;

static pawl_uuid id_of(int number)
{
    pawl_uuid id = {{0x40, 0, 0, 0, 0, 0, 0x40, 0, 0x80}};

    memcpy(id.bytes + 12, &number, sizeof number);
    return id;
}

static int number_of(pawl_uuid id)
{
    int number;

    memcpy(&number, id.bytes + 12, sizeof number);
    return number;
}

/* Every one is due at once; every fourth is cancelled, if it was not claimed before. */
static const char *schedule_and_cancel(shared *s, int first)
{
    for (int i = first; i < first + EACH; i++) {
        pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT;
        pawl_error err = PAWL_ERROR_INIT;
        pawl_uuid id = id_of(i);
        size_t cancelled = 0;

        message.topic = "t";
        message.payload = "x";
        message.payload_size = 1;
        message.id = id;
        message.priority = i % 10;
        if (pawl_timer_schedule(s->scheduler, &message, NULL, &err) != PAWL_OK)
            return test_note("schedule: %s", err.message);
        if (i % 4 == 0 && pawl_timer_cancel(s->scheduler, &id, 1, &cancelled, &err) != PAWL_OK)
            return test_note("cancel: %s", err.message);
        atomic_fetch_add(&s->cancelled[i], (int)cancelled);
    }
    return NULL;
}

static const char *take_due(shared *s)
{
    for (bool last = false; !last;) {
        pawl_error err = PAWL_ERROR_INIT;
        pawl_messages *list = NULL;
        size_t count;

        bool over =
            atomic_load(&s->scheduling) == 0; /* then the next claim finds all that is left */
        if (pawl_timer_take_due(s->scheduler, 7, &list, &err) != PAWL_OK)
            return test_note("take_due: %s", err.message);
        count = pawl_messages_count(list);
        for (size_t i = 0; i < count; i++)
            atomic_fetch_add(&s->taken[number_of(pawl_message_id(pawl_messages_at(list, i)))], 1);
        pawl_messages_free(list);
        last = over && count == 0;
    }
    return NULL;
}

static const char *act(void *context, size_t index)
{
    shared *s = context;
    pawl_timer_total total;
    pawl_error err = PAWL_ERROR_INIT;
    const char *problem;

    if (index < TAKERS)
        return take_due(s);
    problem = schedule_and_cancel(s, (int)index * EACH);
    if (!problem && pawl_timer_count(s->scheduler, NULL, &total, &err) != PAWL_OK)
        problem = test_note("count: %s", err.message);
    atomic_fetch_sub(&s->scheduling, 1);
    return problem;
}

PAWL_TEST(every_timer_is_taken_once_or_cancelled)
{
    static shared s;
    pawl_error err = PAWL_ERROR_INIT;

    memset(&s, 0, sizeof s);
    atomic_store(&s.scheduling, THREADS - TAKERS);
    assert_ok(pawl_scheduler_new_in_memory(NULL, &s.scheduler, &err), &err);
    test_threads(THREADS, act, &s);
    for (int i = TAKERS * EACH; i < THREADS * EACH; i++)
        if (atomic_load(&s.taken[i]) + atomic_load(&s.cancelled[i]) != 1)
            test_fail("timer %d was taken %d times and cancelled %d times", i,
                      atomic_load(&s.taken[i]), atomic_load(&s.cancelled[i]));
    pawl_scheduler_free(s.scheduler);
}

/* tests/cut/load_work.c - the workers of a load. */
#include <stdlib.h>

#include "load.h"

#define LIMIT 20
#define LEASE_MS DAY_MS
#define IDLE_MS 20

static const char *resume(load *l, pawl_owner owner, pawl_messages **ret_list)
{
    while (true) {
        pawl_error err = PAWL_ERROR_INIT;
        pawl_status st = pawl_queue_held(l->store, owner, ret_list, &err);
        if (st == PAWL_OK)
            return NULL;
        if (st == PAWL_E_IN_DOUBT)
            return "held() says that it is in doubt";
        const char *wrong = load_refused(l, "held", st, &err);
        if (wrong)
            return wrong;
    }
}

/* What the worker has to do next; an empty list when there is nothing. */
static const char *take(load *l, pawl_owner owner, pawl_messages **ret_list)
{
    while (true) {
        pawl_error err = PAWL_ERROR_INIT;
        int64_t asked_ms = test_clock_ms();
        int64_t fence = atomic_load(&l->fence);
        pawl_status st = pawl_queue_claim(l->store, owner, LEASE_MS, LIMIT, NULL, ret_list, &err);
        if (st == PAWL_OK) {
            load_answered(l, asked_ms);
            if (pawl_messages_count(*ret_list) > 0 &&
                pawl_message_fence(pawl_messages_at(*ret_list, 0)) <= fence)
                return "a fence was given out that is not above an earlier one";
            return NULL;
        }
        const char *wrong = load_refused(l, "claim", st, &err);
        if (wrong)
            return wrong;
        if (st == PAWL_E_IN_DOUBT)
            return resume(l, owner, ret_list);
    }
}

static void raise_fence(load *l, int64_t fence)
{
    int_fast64_t seen = atomic_load(&l->fence);

    while (seen < fence && !atomic_compare_exchange_weak(&l->fence, &seen, fence))
        continue;
}

static const char *handle_all(load *l, const pawl_messages *list, pawl_held *ret_held)
{
    for (size_t i = 0; i < pawl_messages_count(list); i++) {
        const pawl_message *m = pawl_messages_at(list, i);
        long number = strtol(pawl_message_payload(m, NULL), NULL, 10);
        if (number < 0 || number >= LOAD_SENDERS * LOAD_NUMBERS)
            return "a message was handed out that nobody sent";
        if (atomic_fetch_add(&l->hands[number], 1) > 0)
            return test_note("message %ld was handed out twice", number);
        ret_held[i] = (pawl_held){pawl_message_work_id(m), pawl_message_fence(m)};
        raise_fence(l, pawl_message_fence(m));
    }
    return NULL;
}

/* Repeating it is harmless: all of them once, or none because it was done before. */
static const char *finish(load *l, pawl_owner owner, const pawl_held *held, size_t count)
{
    bool doubt = false;

    while (true) {
        pawl_error err = PAWL_ERROR_INIT;
        int64_t asked_ms = test_clock_ms();
        size_t changed = 0;
        pawl_status st = pawl_queue_ack(l->store, owner, held, count, &changed, &err);
        if (st == PAWL_OK) {
            load_answered(l, asked_ms);
            if (changed == count || (doubt && changed == 0))
                return NULL;
            return test_note("an ack changed %zu of %zu%s", changed, count,
                             doubt ? " after one in doubt" : "");
        }
        const char *wrong = load_refused(l, "ack", st, &err);
        if (wrong)
            return wrong;
        doubt = doubt || st == PAWL_E_IN_DOUBT;
    }
}

const char *load_work(load *l, int worker)
{
    pawl_owner owner = kit_owner(worker + 1);
    pawl_held held[LIMIT];
    const char *wrong = NULL;

    while (!wrong) {
        bool last = atomic_load(&l->senders) == 0; /* before looking */
        pawl_messages *list = NULL;
        pawl_error err = PAWL_ERROR_INIT;
        wrong = take(l, owner, &list);
        size_t count = wrong ? 0 : pawl_messages_count(list);
        if (!wrong && count > 0)
            wrong = handle_all(l, list, held);
        pawl_messages_free(list);
        if (!wrong && count > 0)
            wrong = finish(l, owner, held, count);
        if (!wrong && count == 0 && last)
            return NULL;
        if (!wrong && count == 0 && pawl_queue_wait(l->store, IDLE_MS, &err) != PAWL_OK)
            wrong = "waiting failed";
    }
    return wrong;
}

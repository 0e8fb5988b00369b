/* src/db/waiter_poll.c - waiting for commits on an engine whose commit listener gets every commit,
 * and polling where there is none. See wake-ups.md. */
#include "platform.h"
#include "waiter_private.h"

/* Polling starts at FIRST_POLL_US and doubles. When a write is in progress, it starts at
 * WRITE_POLL_US and grows by half, so that a commit is noticed at most a third later than it is
 * durable. */
#define FIRST_POLL_US INT64_C(50000)
#define WRITE_POLL_US INT64_C(250)
/* Limits how often a waiter reacts to commits that have no messages for it. */
#define FIRST_QUIET_US INT64_C(1000)
#define LONGEST_QUIET_US INT64_C(50000)

static pawl_status poll_arm(pawli_waiter *waiter, pawl_error *err)
{
    pawli_commit_events events;

    (void)err;
    pawli_waiter_open_listener(waiter);
    pawli_waiter_read_events(waiter, &events);
    return PAWL_OK;
}

static void poll_postpone(const pawli_waiter *waiter, pawli_wait *wait, int64_t us)
{
    wait->poll_us = us < waiter->options.poll_us ? us : waiter->options.poll_us;
    wait->next_poll = pawli_mono_after(pawli_mono_now(), wait->poll_us);
}

static void poll_begin(const pawli_waiter *waiter, pawli_wait *wait)
{
    wait->max_until = pawli_mono_after(pawli_mono_now(), waiter->options.max_wait_us);
    poll_postpone(waiter, wait, FIRST_POLL_US);
}

/* Checks whether a commit has made messages claimable. */
static pawl_status poll_check(pawli_waiter *waiter, pawli_wait *wait, pawli_woken *ret_why,
                              bool *ret_woken, pawl_error *err)
{
    bool time = pawli_mono_passed(wait->next_poll);
    pawli_commit_events events;
    pawl_status st;

    pawli_waiter_read_events(waiter, &events);
    if (events.commit || (!waiter->listener && time)) {
        st = pawli_waiter_query_due(waiter, err);
        if (st != PAWL_OK)
            return st;
        *ret_why = PAWLI_WOKEN_SENT;
        *ret_woken = waiter->has_due && pawli_mono_passed(waiter->due);
        wait->quiet_us = wait->quiet_us * 2 < FIRST_QUIET_US ? FIRST_QUIET_US : wait->quiet_us * 2;
        if (wait->quiet_us > LONGEST_QUIET_US)
            wait->quiet_us = LONGEST_QUIET_US;
        wait->quiet_until = pawli_mono_after(pawli_mono_now(), wait->quiet_us);
        poll_postpone(waiter, wait, FIRST_POLL_US);
    } else if (events.writing && wait->poll_us >= FIRST_POLL_US) {
        poll_postpone(waiter, wait, WRITE_POLL_US);
        wait->quiet_until = wait->next_poll;
    } else if (time) {
        bool writing = wait->poll_us < FIRST_POLL_US;
        poll_postpone(waiter, wait, writing ? wait->poll_us * 3 / 2 : wait->poll_us * 2);
        if (wait->poll_us < FIRST_POLL_US)
            wait->quiet_until = wait->next_poll;
    }
    return PAWL_OK;
}

const pawli_wait_method pawli_wait_by_polling = {
    .arm = poll_arm,
    .begin = poll_begin,
    .check = poll_check,
};

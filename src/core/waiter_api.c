/* src/core/waiter_api.c - waiting for work in an application's own claim loop. */
#include <pawl/waiter.h>
#include <pawl_private/delivery_store.h>

#include <stdlib.h>

#include "claim_check.h"
#include "fail.h"
#include "options.h"
#include "store_private.h"
#include "waiter.h"
#include "platform.h"

#define TIMEOUT_MAX_MS ((int64_t)36500 * 24 * 3600 * 1000)

struct pawl_waiter {
    pawli_waiter *inner;
};

pawl_status pawl_waiter_new(pawl_store *store, pawl_waiter **ret_waiter, pawl_error *err)
{
    if (!store || !ret_waiter)
        return pawli_fail(err, PAWL_E_INVALID, "store and ret_waiter must not be NULL");
    pawl_status st = pawli_db_check_process(store->db, err);
    if (st != PAWL_OK)
        return st;
    pawl_waiter *waiter = calloc(1, sizeof *waiter);
    if (!waiter)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a waiter");
    st = pawli_waiter_new(store->db, NULL, &waiter->inner, err);
    if (st == PAWL_OK)
        *ret_waiter = waiter;
    else
        free(waiter);
    return st;
}

void pawl_waiter_free(pawl_waiter *waiter)
{
    if (!waiter)
        return;
    pawli_waiter_free(waiter->inner);
    free(waiter);
}

pawl_status pawl_waiter_arm(pawl_waiter *waiter, const pawl_claim_options *opts, pawl_error *err)
{
    pawl_claim_options options = PAWL_CLAIM_OPTIONS_INIT;
    pawl_status st;

    if (!waiter)
        return pawli_fail(err, PAWL_E_INVALID, "the waiter must not be NULL");
    st = pawli_options_copy(&options, sizeof options, opts, err);
    if (st == PAWL_OK)
        st = pawli_check_topics(&options, err);
    if (st == PAWL_OK)
        st = pawli_check_destinations(&options, err);
    if (st != PAWL_OK)
        return st;
    if (options.destinations)
        return pawli_waiter_arm_remote(waiter->inner, options.destinations,
                                       options.destination_count, false, err);
    return pawli_waiter_arm(waiter->inner, options.topics, options.topic_count, err);
}

pawl_status pawl_waiter_arm_others(pawl_waiter *waiter, const char *const *destinations,
                                   size_t count, pawl_error *err)
{
    if (!waiter || (!destinations && count > 0))
        return pawli_fail(err, PAWL_E_INVALID,
                          "the waiter must not be NULL, nor destinations unless their count is 0");
    return pawli_waiter_arm_remote(waiter->inner, destinations, count, true, err);
}

pawl_status pawl_waiter_wait(pawl_waiter *waiter, int64_t timeout_ms, int fd, pawl_error *err)
{
    if (!waiter || timeout_ms < 0 || timeout_ms > TIMEOUT_MAX_MS)
        return pawli_fail(err, PAWL_E_INVALID,
                          "waiter must not be NULL, and timeout_ms must not be negative");
    pawl_mono deadline = pawli_mono_after(pawli_mono_now(), timeout_ms * 1000);
    pawli_waiter_watch(waiter->inner, fd);
    pawl_status st = pawli_waiter_wait(waiter->inner, deadline, NULL, err);
    pawli_waiter_watch(waiter->inner, -1);
    return st;
}

void pawl_waiter_disarm(pawl_waiter *waiter)
{
    if (waiter)
        pawli_waiter_disarm(waiter->inner);
}

void pawl_waiter_wake(pawl_waiter *waiter)
{
    if (waiter)
        pawli_waiter_wake(waiter->inner);
}

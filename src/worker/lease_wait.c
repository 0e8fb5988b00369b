/* src/worker/lease_wait.c - taking a lease that somebody else may still hold. */
#include "lease_runner.h"

#include "fail.h"
#include "store_private.h"
#include "platform.h"

/* While it is held it is looked at after so long, then twice as long, and so on. */
#define FIRST_PAUSE_US INT64_C(50000)
#define LONGEST_PAUSE_US INT64_C(1000000)

static pawl_status lease_wait_interrupted(const pawl_lease_runner *runner, pawl_error *err)
{
    return pawli_fail(err, PAWL_E_INTERRUPTED, "waiting for the lease '%.255s' was interrupted",
                      runner->name);
}

/* Many who wait for the same lease need not meet: three to five quarters of it. */
static int64_t with_jitter(int64_t pause_us)
{
    return pause_us * 3 / 4 + (int64_t)(pawli_random_u64() % (uint64_t)(pause_us / 2 + 1));
}

/* Sends wake the same threads, and are nothing to us. */
static pawl_status lease_wait_rest(pawl_lease_runner *runner, uint64_t interrupts, pawl_mono until,
                                   pawl_error *err)
{
    pawli_db *db = runner->store->db;
    pawli_wake *wake = pawli_db_wake(db);

    while (pawli_db_interrupts(db) == interrupts && !pawli_mono_passed(until))
        (void)pawli_wake_wait(wake, pawli_wake_sent(wake), until);
    return pawli_db_interrupts(db) == interrupts ? PAWL_OK : lease_wait_interrupted(runner, err);
}

/* A look takes no lock. *ret_left_us: how long the holder has it, 0 when nobody does. */
static pawl_status lease_wait_look(pawl_lease_runner *runner, int64_t *ret_left_us, pawl_error *err)
{
    pawl_leases *one = NULL;
    pawl_status st = pawl_lease_get(runner->store, runner->name, &one, err);

    *ret_left_us = 0;
    if (st == PAWL_E_NOT_FOUND)
        return PAWL_OK;
    if (st == PAWL_OK && pawl_leases_at(one, 0)->owned)
        *ret_left_us = pawl_leases_at(one, 0)->expires_at.us - pawl_leases_now(one).us;
    pawl_leases_free(one);
    return st;
}

/* Until nobody holds it, or the end of the wait, which is PAWL_E_HELD with `err` as it is. */
static pawl_status wait_until_free(pawl_lease_runner *runner, uint64_t interrupts, pawl_mono end,
                                   pawl_error *err)
{
    int64_t pause_us = FIRST_PAUSE_US;
    int64_t left_us;
    pawl_status st;

    for (;;) {
        pawl_error why = PAWL_ERROR_INIT;

        st = lease_wait_look(runner, &left_us, &why);
        if (st == PAWL_OK && left_us > 0 && pawli_mono_passed(end))
            return PAWL_E_HELD;
        if (st == PAWL_OK && left_us > 0) {
            int64_t next_us = with_jitter(pause_us);
            pawl_mono until =
                pawli_mono_after(pawli_mono_now(), left_us < next_us ? left_us + 1000 : next_us);
            st = lease_wait_rest(runner, interrupts, until.us < end.us ? until : end, &why);
        }
        if (st != PAWL_OK && err)
            *err = why;
        if (st != PAWL_OK || left_us == 0)
            return st;
        pause_us = pause_us * 2 < LONGEST_PAUSE_US ? pause_us * 2 : LONGEST_PAUSE_US;
    }
}

pawl_status pawli_lease_runner_acquire(pawl_lease_runner *runner, pawl_lease_grant *ret_grant,
                                       pawl_mono *ret_asked_at, pawl_error *err)
{
    const pawl_lease_runner_options *options = &runner->options;
    uint64_t interrupts = pawli_db_interrupts(runner->store->db);
    pawl_mono end = pawli_mono_after(pawli_mono_now(), options->wait_ms * 1000);
    pawl_status st;

    for (;;) {
        *ret_asked_at = pawli_lease_runner_now(runner);
        st = pawl_lease_acquire(runner->store, runner->name, runner->owner, options->ttl_ms,
                                options->owner_name, ret_grant, err);
        if (st != PAWL_E_HELD || options->wait_ms == 0)
            return st;
        st = wait_until_free(runner, interrupts, end, err);
        if (st != PAWL_OK)
            return st;
    }
}

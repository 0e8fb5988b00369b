/* tests/fault/life_lease.c - the calls of one life about leases. */
#include "life_steps.h"

#define NAME "it"

int64_t life_lease_fence(life *l)
{
    failing_pause();
    int64_t fence = fixture_count(l->f, "SELECT fence FROM {lease} WHERE name = '" NAME "'");
    failing_resume();
    return fence;
}

pawl_status life_lease_take(life *l, pawl_error *err)
{
    pawl_lease_grant grant;

    return pawl_lease_acquire(l->store, NAME, kit_owner(1), MINUTE_MS, NULL, &grant, err);
}

pawl_status life_lease_renew(life *l, pawl_error *err)
{
    pawl_lease_grant grant;

    return pawl_lease_renew(l->store, NAME, kit_owner(1), life_lease_fence(l), 2 * MINUTE_MS,
                            &grant, err);
}

pawl_status life_lease_guard(life *l, pawl_error *err)
{
    return pawl_lease_guard(l->tx, NAME, life_lease_fence(l), err);
}

pawl_status life_lease_release(life *l, pawl_error *err)
{
    return pawl_lease_release(l->store, NAME, kit_owner(1), life_lease_fence(l), NULL, err);
}

/* The same owner every time: what a failed stop left is extended. */
pawl_status life_lease_run(life *l, pawl_error *err)
{
    pawl_lease_runner_options options = PAWL_LEASE_RUNNER_OPTIONS_INIT;
    pawl_lease_runner *runner = NULL;
    pawl_leases *list = NULL;

    options.by_steps = true;
    options.owner = kit_owner(1);
    options.owner_name = "runner";
    pawl_status st = pawl_lease_runner_start(l->store, "run", &options, &runner, err);
    if (st == PAWL_OK)
        st = pawl_lease_runner_renew_now(runner, err);
    if (st == PAWL_OK)
        st = pawl_lease_list(l->store, NULL, &list, err);
    if (st == PAWL_OK && pawl_leases_count(list) != 2)
        test_fail("%zu of 2 leases are listed", pawl_leases_count(list));
    if (st == PAWL_OK)
        st = pawl_lease_runner_stop(runner, err);
    pawl_leases_free(list);
    pawl_lease_runner_free(runner);
    return st;
}

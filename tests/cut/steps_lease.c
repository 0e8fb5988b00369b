/* tests/cut/steps_lease.c - the steps about a lease. */
#include <libpq-fe.h>

#include "steps.h"

#define OWNER kit_owner(1)
#define NAME "it"

/* Who does not know whether it was given the lease asks again, and has it with the same token. */
pawl_status step_lease_take(world *w, size_t *ret_changed, pawl_error *err)
{
    pawl_lease_grant grant;
    pawl_status st = pawl_lease_acquire(w->store, NAME, OWNER, MINUTE_MS, NULL, &grant, err);

    if (st == PAWL_OK) {
        w->lease_fence = grant.fence;
        *ret_changed = 1;
    }
    return st;
}

pawl_status step_lease_renew(world *w, size_t *ret_changed, pawl_error *err)
{
    pawl_lease_grant grant;
    pawl_status st =
        pawl_lease_renew(w->store, NAME, OWNER, w->lease_fence, 2 * MINUTE_MS, &grant, err);

    *ret_changed = st == PAWL_OK;
    return st;
}

/* Given back twice: the second time it is no longer held, which is what was wanted. */
pawl_status step_lease_release(world *w, size_t *ret_changed, pawl_error *err)
{
    pawl_status st = pawl_lease_release(w->store, NAME, OWNER, w->lease_fence, NULL, err);

    *ret_changed = st == PAWL_OK;
    return st == PAWL_E_LOST ? PAWL_OK : st;
}

/* pawl cannot be in doubt here, nor may a cut look like a lease that is lost. */
pawl_status step_lease_guard(world *w, size_t *ret_changed, pawl_error *err)
{
    pawl_tx *tx = NULL;
    pawl_status st = steps_begin(w, err);

    (void)ret_changed;
    if (st == PAWL_OK)
        st = pawl_tx_wrap_postgres(w->store, w->client, &tx, err);
    if (st == PAWL_OK)
        st = pawl_lease_guard(tx, NAME, w->lease_fence, err);
    pawl_tx_free(tx);
    if (st == PAWL_E_IN_DOUBT || st == PAWL_E_LOST)
        test_fail("the guard answered %s", pawl_status_name(st));
    if (w->client)
        PQclear(PQexec(w->client, "ROLLBACK"));
    return st;
}

/* tests/conformance/lease_fixture.c - helpers shared by the tests of leases. */
#include "lease_fixture.h"

pawl_lease_grant lease_take(fixture *f, const char *name, int owner)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_lease_grant grant = {0};

    assert_ok(
        pawl_lease_acquire(fixture_store(f), name, queue_owner(owner), TTL_MS, NULL, &grant, &err),
        &err);
    return grant;
}

pawl_status lease_try(fixture *f, const char *name, int owner)
{
    pawl_lease_grant grant;

    return pawl_lease_acquire(fixture_store(f), name, queue_owner(owner), TTL_MS, NULL, &grant,
                              NULL);
}

pawl_status lease_renew(fixture *f, const char *name, int owner, int64_t fence)
{
    pawl_lease_grant grant;

    return pawl_lease_renew(fixture_store(f), name, queue_owner(owner), fence, TTL_MS, &grant,
                            NULL);
}

pawl_status lease_release(fixture *f, const char *name, int owner, int64_t fence)
{
    return pawl_lease_release(fixture_store(f), name, queue_owner(owner), fence, NULL, NULL);
}

pawl_status lease_force(fixture *f, const char *name)
{
    return pawl_lease_force_release(fixture_store(f), name, NULL, NULL, NULL);
}

static void free_leases(void *leases)
{
    pawl_leases_free(leases);
}

const pawl_lease *lease_read(fixture *f, const char *name)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_leases *one = NULL;
    pawl_status st = pawl_lease_get(fixture_store(f), name, &one, &err);

    if (st == PAWL_E_NOT_FOUND)
        return NULL;
    assert_ok(st, &err);
    test_defer(free_leases, one);
    return pawl_leases_at(one, 0);
}

pawl_status lease_guard(fixture *f, const char *name, int64_t fence)
{
    pawl_tx *tx = fixture_tx_begin(f, 0);
    pawl_status st = pawl_lease_guard(tx, name, fence, NULL);

    fixture_tx_rollback(f, 0);
    return st;
}

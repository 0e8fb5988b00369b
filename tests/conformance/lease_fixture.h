/* tests/conformance/lease_fixture.h - helpers shared by the tests of leases. */
#ifndef PAWL_TEST_LEASE_FIXTURE_H
#define PAWL_TEST_LEASE_FIXTURE_H

#include "queue_fixture.h"

#define TTL_MS (30 * SECOND_MS)

/* Take "it" as that owner; any failure ends the test. */
pawl_lease_grant lease_take(fixture *f, const char *name, int owner);
/* The result of acquiring it for TTL_MS. */
pawl_status lease_try(fixture *f, const char *name, int owner);
pawl_status lease_renew(fixture *f, const char *name, int owner, int64_t fence);
pawl_status lease_release(fixture *f, const char *name, int owner, int64_t fence);
pawl_status lease_force(fixture *f, const char *name);
/* The lease as it is, until the test ends; NULL if there is none. */
const pawl_lease *lease_read(fixture *f, const char *name);
/* The guard in a transaction of the application's that does nothing else. */
pawl_status lease_guard(fixture *f, const char *name, int64_t fence);

#endif

/* tests/leases/lease_history.h - random histories of leases on a real store, beside the model. */
#ifndef PAWL_LEASE_HISTORY_H
#define PAWL_LEASE_HISTORY_H

#include "broken.h"
#include "fixture.h"
#include "lease_model.h"

typedef enum deed {
    DEED_ACQUIRE,
    DEED_RENEW,
    DEED_RELEASE,
    DEED_FORCE,
    DEED_GUARD,
    DEED_CLEAN,
    DEED_CLAIM, /* a message, whose token is of the same counter */
    DEED_GET,
    DEED_CLOCK,  /* on, to the end of a lease, far ahead, or back */
    DEED_REOPEN, /* as if the process had ended and another begun */
    DEED_COUNT
} deed;

typedef struct coverage {
    uint64_t done[DEED_COUNT];
    uint64_t taken, extended, leased, lost, passed, stale;
} coverage;

typedef struct lease_history {
    fixture *f;
    broken_store broken;
    pawl_store *stores[2];
    model m;
    uint64_t random;
    finding wrong;
    coverage covered;
    char log[4096]; /* the operations of this history */
    size_t log_used;
} lease_history;

void lease_history_init(lease_history *p, fixture *f, const broken *how);
/* One history, for a campaign whose context it is: LEASE_DEEDS deeds. */
#define LEASE_DEEDS 100
bool lease_history_run(void *context, uint64_t seed, finding *wrong);
/* Prints its operations as a comment of the test. */
void lease_history_report(void *context);

#endif

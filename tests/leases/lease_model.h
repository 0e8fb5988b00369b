/*
 * tests/leases/lease_model.h - the rules of leases, independent of the SQL.
 *
 * Two things are checked. Every result must be the one that the model predicts. And, from the
 * results alone, independent of the model: never two owners at one time of the database's clock,
 * tokens strictly grow, a token that is not the latest of its lease never passes the guard.
 */
#ifndef PAWL_LEASE_MODEL_H
#define PAWL_LEASE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/pawl.h>

#include "finding.h"

#define MODEL_NAMES 2
#define MODEL_OWNERS 3

/* The last result that an owner got for a lease, which it believes until the next one. */
typedef struct belief {
    int64_t fence;      /* 0: it never had it */
    int64_t expires_at; /* by the database's clock; 0: it was released, or a call returned that it
                         * is lost
                         */
} belief;

typedef struct model_lease {
    bool known; /* there is a row */
    int owner;  /* the owner, or the last one */
    int64_t fence;
    int64_t expires_at;
    bool released;
    int64_t forced_fence; /* 0: it was never taken away */
} model_lease;

typedef struct model {
    model_lease leases[MODEL_NAMES];
    belief beliefs[MODEL_NAMES][MODEL_OWNERS];
    int64_t latest[MODEL_NAMES]; /* token of the lease, from the results */
    int64_t highest;             /* token of all, from the results */
    int64_t now;                 /* the database's clock */
    bool forgets_time;           /* it may step back to before what was forgotten (PostgreSQL) */
} model;

bool model_leased(const model *m, int name);

/* The result of the call; `grant` is valid when it was PAWL_OK. Each checks and follows. */
void model_acquired(model *m, int name, int owner, int64_t ttl_ms, pawl_status st,
                    const pawl_lease_grant *grant, finding *wrong);
void model_renewed(model *m, int name, int owner, int64_t fence, int64_t ttl_ms, pawl_status st,
                   const pawl_lease_grant *grant, finding *wrong);
void model_released(model *m, int name, int owner, int64_t fence, pawl_status st, finding *wrong);
void model_forced(model *m, int name, int64_t fence, pawl_status st, finding *wrong);
void model_guarded(const model *m, int name, int64_t fence, pawl_status st, finding *wrong);
void model_cleaned(model *m, int64_t keep_ms, size_t removed, finding *wrong);
/* A message was claimed: its token is one of the same counter. */
void model_claimed(model *m, int64_t fence, finding *wrong);
/* Everything that can be seen of a lease; NULL: there is none. */
void model_check_read(const model *m, int name, const pawl_lease *lease, finding *wrong);

#endif

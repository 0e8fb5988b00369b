/*
 * tests/scenario/campaign.h - one random history per seed, until something is found.
 *
 * Each suite says how a history of a seed is played; that its broken stores are found is the same
 * campaign, expected to end with a finding.
 */
#ifndef PAWL_SCENARIO_CAMPAIGN_H
#define PAWL_SCENARIO_CAMPAIGN_H

#include <stdint.h>

#include "finding.h"

typedef struct campaign {
    /* Play the history of this seed. False: something was found, and `wrong` says what. */
    bool (*play)(void *context, uint64_t seed, finding *wrong);
    /* Print what there is to say about the history that was played last; may be NULL. */
    void (*report)(void *context);
    void *context;
    const char *seed_variable; /* reproduces the finding; may be NULL */
    uint64_t first_seed;
    uint64_t count;
    bool seed_chosen; /* by the environment: one history covers little */
    /* the results */
    uint64_t played;
    uint64_t failed_seed;
    finding wrong;
} campaign;

/*
 * From seed 1 on, `reduced` histories, or `whole` with PAWL_TEST_WHOLE; but only the one that the
 * environment variable NAME_SEED says, and as many as NAME_COUNT says.
 */
void campaign_init(campaign *c, const char *name, long reduced, long whole);
/* Ends at the first history in which something is found; false: there was one. */
bool campaign_run(campaign *c);
/* It must find nothing, else the test fails with seed and finding. */
void campaign_expect_nothing(campaign *c);
/* `what` is broken: it must find that, else the test fails. */
void campaign_expect_finding(campaign *c, const char *what);

#endif

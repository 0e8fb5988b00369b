/* tests/sequences/campaign.h - many sequences, and the shortest form of one that fails. */
#ifndef PAWL_SEQUENCES_CAMPAIGN_H
#define PAWL_SEQUENCES_CAMPAIGN_H

#include "play.h"

typedef struct campaign {
    place *at;
    uint64_t first_seed;
    uint64_t sequences;
    int shrink_tries; /* sequences to play to make a failing one shorter */
    /* what came of it */
    uint64_t played;
    uint64_t steps;
    coverage covered;
    bool failed;
    uint64_t failed_seed;
    size_t failed_steps; /* its length when shortened */
    char first[600];     /* what was found */
    char report[8192];   /* seed, engine, the difference, and the shortened sequence line by line */
} campaign;

/*
 * How many sequences, and from which seed on: PAWL_SEQUENCES_SEED (then only that one) and
 * PAWL_SEQUENCES_COUNT, or what PAWL_TEST_WHOLE says.
 */
void campaign_init(campaign *c, place *at);
/* Ends at the first sequence that fails. */
void campaign_run(campaign *c);
/* The report as remarks of the test. */
void campaign_print(const campaign *c);

#endif

/* tests/sequences/sequence_campaign.h - many sequences, and the shortest form of one that fails. */
#ifndef PAWL_SEQUENCE_CAMPAIGN_H
#define PAWL_SEQUENCE_CAMPAIGN_H

#include "campaign.h"
#include "runner.h"

typedef struct sequence_campaign {
    campaign base;
    sequence_fixture *at;
    int shrink_tries; /* sequences to play to make a failing one shorter */
    uint64_t steps;
    runner p;        /* with what has happened so far */
    sequence q;      /* the last one, shortened if it failed */
    char text[8192]; /* seed, engine, the difference, and the shortened sequence line by line */
} sequence_campaign;

/*
 * How many sequences, and from which seed on: PAWL_SEQUENCES_SEED and PAWL_SEQUENCES_COUNT, or what
 * PAWL_TEST_WHOLE says. Freed when the test ends.
 */
sequence_campaign *sequence_campaign_new(sequence_fixture *at);

#endif

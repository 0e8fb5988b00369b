/* tests/sequences/generate.h - random operations that are likely to matter. */
#ifndef PAWL_SEQUENCES_GENERATE_H
#define PAWL_SEQUENCES_GENERATE_H

#include "sequence_step.h"

typedef struct generator {
    uint64_t state;
    const sequence *q;
    size_t length; /* steps before the end game */
    step again;    /* the next step of a caller that got no result */
    bool has_again;
} generator;

/* Chooses what kind of sequence it is going to be. */
void generator_begin(generator *g, uint64_t seed, bool postgres, sequence *q);
/* The next step, given the contents of the store; false at the end. */
bool generator_next(generator *g, const model *m, step *ret_step);

#endif

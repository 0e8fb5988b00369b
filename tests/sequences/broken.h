/*
 * tests/sequences/broken.h - stores that are broken on purpose: the right one, with something done
 * to it around a call, as if the call had done otherwise.
 */
#ifndef PAWL_SEQUENCES_BROKEN_H
#define PAWL_SEQUENCES_BROKEN_H

#include "step.h"

typedef struct broken {
    const char *what;
    step_kind kind;      /* the call it is done to */
    const char *before;  /* SQL as fixture_exec() takes it; {saved} is the queue before the call */
    const char *after;   /* NULL: nothing */
    bool ignore_fence;   /* the answer has the fence of whatever the owner holds now */
    bool forget_if_lost; /* what was done without an answer is taken for not done */
} broken;

extern const broken broken_stores[];
extern const size_t broken_count;

#endif

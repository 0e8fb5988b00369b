/* tests/plans/plans_fixture.h - a big queue, and a value for every parameter of every statement. */
#ifndef PAWL_TEST_WORLD_H
#define PAWL_TEST_WORLD_H

#include "queue_fixture.h"

/* How many rows the statements that take a limit are given to find. */
#define PLANS_BATCH 50

typedef struct plans_fixture {
    fixture *f;
    int64_t ready;         /* a message that is due */
    int64_t leased, fence; /* one that queue_owner(1) has claimed */
    int64_t dead;          /* one that failed */
    pawl_uuid find;
    int64_t job; /* one that is due */
} plans_fixture;

/* The lanes that the others fill. */
void plans_lanes(fixture *f);
/*
 * Add `finished` finished messages, twice as many jobs (100,000 at most) that are not due for long,
 * each with a run, a tenth of that for a destination that is never claimed, and
 * `future` ones that are not due for long, by plain SQL.
 */
void plans_fill(fixture *f, int64_t finished, int64_t future);
/* A few messages in every state that a statement searches for, through the library. */
void plans_people(plans_fixture *w);

#endif

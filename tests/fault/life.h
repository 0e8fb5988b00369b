/*
 * tests/fault/life.h - a whole life cycle of a queue, every call of which may fail once.
 *
 * After a call that failed, the tables are looked at from outside: what answered PAWL_OK is there,
 * what failed for certain is not, and PAWL_E_IN_DOUBT may be either, but never half. Then the call
 * is made again without a fault and must succeed, and life goes on to the same end as ever.
 */
#ifndef PAWL_TEST_LIFE_H
#define PAWL_TEST_LIFE_H

#include "failing.h"
#include "kit.h"

/* The calls of a life, and how it ends whatever has failed. */
typedef struct life_story {
    const struct life_step *steps; /* ends with one without a name */
    const char *end;               /* states and retries of the messages, by number */
} life_story;
extern const life_story life_queue; /* life_steps.c */
extern const life_story life_inbox; /* life_inbox.c */
extern const life_story life_timer; /* life_timer.c */
extern const life_story life_job;   /* life_job.c */

/* Live once on the fixture's emptied tables with the `nth` call of `kind` failing. Whether that
 * call was reached: false means that the life passed untouched. */
bool life_run(fixture *f, const life_story *story, failing_kind kind, long nth, int how);

/* The same for making the schema in an empty database and opening the store. */
bool life_deploy(failing_kind kind, long nth, int how);

/* Live with n = 1, 2, 3 ... failing until nothing fails any more, and print how many that were.
 * Past `dense` only every `stride`-th is tried. */
void life_run_all(const life_story *story, failing_kind kind, int how, const char *name, long dense,
                  long stride);
void life_deploy_all(failing_kind kind, int how, const char *name, long dense, long stride);

/* ---- for other lives ---- */

/* Everything a life leaves behind goes; the fencing counter and the lanes stay. */
void life_clean(fixture *f);
/* What had reached the server before the cut is still done; only then can be looked. */
void life_wait_for_server(fixture *f);
/* The point after `nth`. */
long life_next_point(long nth, long dense, long stride);

#endif

/*
 * tests/scenario/broken.h - stores that are deliberately broken: the right one, with something done
 * to a table around a call, as if the call had done otherwise.
 */
#ifndef PAWL_SCENARIO_BROKEN_H
#define PAWL_SCENARIO_BROKEN_H

#include "fixture.h"

typedef struct broken {
    const char *what;
    int kind;            /* the call it is done to, as the suite numbers them */
    const char *before;  /* SQL as fixture_exec() takes it; {saved} is the table before the call */
    const char *after;   /* NULL: nothing */
    bool ignore_fence;   /* the call is made with whatever fence is the right one just now */
    bool forget_if_lost; /* a call whose result was lost is taken for not done */
} broken;

typedef struct broken_store {
    fixture *f;
    const broken *how; /* NULL: nothing is broken */
    const char *save_sql;
    const char *before_sql;
    const char *after_sql;
} broken_store;

/* From now on it is broken like that, in `table`. */
void broken_store_init(broken_store *b, fixture *f, const char *table, const broken *how);
/* Whether that is done to calls of this kind. */
bool broken_store_is(const broken_store *b, int kind);
/* Around a call of this kind. */
void broken_store_before(const broken_store *b, int kind);
void broken_store_after(const broken_store *b, int kind);

#endif

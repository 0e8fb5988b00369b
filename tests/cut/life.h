/*
 * tests/cut/life.h - one life of a queue through the proxy, cut once.
 *
 * A call answers done, not done or in doubt; then the tables are looked at from outside and must
 * agree. What was not done is made again, what is in doubt is resolved as the documentation says,
 * and life goes on to the same end as ever.
 */
#ifndef PAWL_CUT_LIFE_H
#define PAWL_CUT_LIFE_H

#include "proxy.h"
#include "steps.h"

/* What is wrong on purpose, so that the checks can be seen to find it. */
typedef enum life_belief {
    BELIEVE_THE_ANSWER,
    BELIEVE_DOUBT_IS_FAILURE, /* in doubt is taken for not done */
    BELIEVE_DOUBT_IS_SUCCESS  /* in doubt is taken for done */
} life_belief;

/* One kind of cut, at message after message, or at every `stride`-th. */
typedef struct campaign {
    const char *name;
    proxy_plan plan; /* its `at` is the first */
    long stride;
    bool prepare;
    life_belief belief;
    int64_t timeout_ms; /* of every call; 0: long enough */
} campaign;

typedef struct tally {
    long points;       /* cuts made */
    long done;         /* what the calls that were cut answered */
    long not_done;     /* ... */
    long in_doubt;     /* ... */
    long doubt_there;  /* of those in doubt, how many had been done */
    int64_t latest_ms; /* the longest call that was cut */
    long violations;   /* lives in which something was wrong */
    const char *first; /* the first of them, or NULL */
} tally;

/* Adds to *t. One fixture and one proxy serve all the lives. */
void campaign_run(const campaign *c, tally *t);

/* Wait until the server's process has gone: it may still be committing. 0 is nobody. */
void life_await_gone(fixture *f, int backend);

#endif

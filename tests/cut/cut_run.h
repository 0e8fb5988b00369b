/*
 * tests/cut/cut_run.h - the scenario through the proxy, cut once.
 *
 * A call returns done, not done or in doubt; then the tables are read from outside and must
 * agree (tests/scenario/scenario.h). A call that was not done is repeated, one in doubt is resolved
 * as the documentation says, and the scenario continues to the same end as ever.
 */
#ifndef PAWL_CUT_RUN_H
#define PAWL_CUT_RUN_H

#include "proxy.h"
#include "scenario.h"

extern const scenario_list cut_scenario; /* cut_steps.c */

/* Deliberate faults, to show that the checks find them. */
typedef enum cut_belief {
    BELIEVE_THE_ANSWER,
    BELIEVE_DOUBT_IS_FAILURE, /* in doubt is taken for not done */
    BELIEVE_DOUBT_IS_SUCCESS  /* in doubt is taken for done */
} cut_belief;

/* One kind of cut, at message after message, or at every `stride`-th. */
typedef struct cut_campaign {
    const char *name;
    proxy_plan plan; /* its `at` is the first */
    long stride;
    bool prepare;
    cut_belief belief;
    int64_t timeout_ms; /* of every call; 0: long enough */
} cut_campaign;

typedef struct cut_tally {
    long points;       /* cuts made */
    long done;         /* the results of calls that were cut */
    long not_done;     /* ... */
    long in_doubt;     /* ... */
    long doubt_there;  /* of those in doubt, how many had been done */
    int64_t latest_ms; /* the longest call that was cut */
    long violations;   /* runs in which something was wrong */
    const char *first; /* the first of them, or NULL */
} cut_tally;

/* Adds to *t. One fixture and one proxy serve all the runs. */
void cut_campaign_run(const cut_campaign *c, cut_tally *t);

#endif

/*
 * tests/model/history.h - one random history: senders, workers, foreign writers, and what is
 * missed.
 *
 * The cursor under test is the library's own (src/db/postgres/cursor_postgres.h). Each `rule`
 * spoils one part of how it is used; those must lose messages, which shows that the histories are
 * wild enough to tell.
 */
#ifndef PAWL_TEST_MODEL_HISTORY_H
#define PAWL_TEST_MODEL_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

typedef enum model_rule {
    RULE_CHOSEN,
    RULE_LAST_TAKEN,    /* start at the last run_at taken */
    RULE_PAST_DUE,      /* a caller's past due time is stamped as run_at */
    RULE_EPOCH_OF_XMAX, /* the epoch's id is the snapshot's next, not an id of one's own */
    RULE_SKIP_LOCKED,   /* rows that another claim has locked do not hold the position back */
    RULE_UNCOMMITTED,   /* learn before the claim's own commit */
    RULE_FIXED_LAG,     /* start a fixed time before the last claim */
    RULE_CLOCK_FIRST,   /* a sender reads the clock before it takes its id */
    RULE_NO_STAMP,      /* a row becomes ready again with its old run_at */
    RULE_KEEP_ALL,      /* positions survive a new connection */
    RULE_NO_AGAIN,      /* the end of a long transaction is not noticed */
    RULE_CLOCK_BLIND,   /* a clock below the highest seen is not noticed */
    RULE_UNLISTED,      /* ids above the look's own are neither listed nor counted as running */
} model_rule;

typedef enum model_clock {
    CLOCK_STEADY,
    CLOCK_STEPS_SEEN,   /* backwards, and a claim comes before the clock is ahead again */
    CLOCK_STEPS_UNSEEN, /* backwards, while nobody claims */
    CLOCK_STEPS         /* one or the other */
} model_clock;

typedef struct model_world {
    bool long_writers; /* transactions that run for longer than is waited for */
    model_clock clock;
    bool fail_overs; /* a new server that lost the last commits */
    bool sweeps;
    bool one_store;  /* all workers share a cursor; otherwise there are two */
    bool crowded;    /* more transactions run than a look lists */
    int64_t long_us; /* 0: every transaction is waited for */
} model_world;

typedef struct outcome {
    int claims;
    int taken;
    int missed;          /* looks that passed over a message that was there to take */
    int64_t max_wait_us; /* a message was passed over by one store for so long */
    int64_t too_long_us; /* by how much that was beyond what is promised; 0: it was not */
    int left;            /* messages that nobody took in the end */
    int still_running;   /* transactions that the cursor stopped awaiting before they had ended */
    int most_running;    /* transactions at one time */
} outcome;

outcome history_run(uint64_t seed, model_rule rule, const model_world *world);

#endif

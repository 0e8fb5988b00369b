/* tests/sequences/runner.h - carrying out a sequence in the store and in the model, side by side.
 */
#ifndef PAWL_SEQUENCES_RUNNER_H
#define PAWL_SEQUENCES_RUNNER_H

#include "sequence_fixture.h"
#include "sequence_step.h"

/* Counts of events: sequences without events would prove nothing. */
typedef struct coverage {
    uint64_t effective[STEP_KINDS]; /* steps that changed or found something */
    uint64_t conflicts;
    uint64_t repeated; /* sent again, and known */
    uint64_t committed;
    uint64_t stale; /* results for messages that were no longer owned under that fence */
    uint64_t lost;  /* the caller got no result */
    uint64_t faults;
    uint64_t in_doubt;
    uint64_t forgotten; /* totals of a topic */
} coverage;

typedef struct runner {
    sequence_fixture *at;
    model m;
    finding wrong;
    coverage covered;
} runner;

void runner_begin(runner *p, sequence_fixture *at, const sequence *q);
/* False when the store is not as it should be; `wrong` says what. */
bool runner_step(runner *p, const step *s);

/* ---- shared by the files of the runner ---- */

/* The result of a call. */
typedef enum call_result {
    CALL_DONE,
    CALL_NOT_DONE,
    CALL_IN_DOUBT, /* one of the two; the store must be asked */
    CALL_WRONG     /* a result that it should not have given */
} call_result;

pawl_store *runner_store(runner *p, const step *s);
/* Before and after the call under test, for steps with a fault. */
void runner_arm(runner *p, const step *s);
call_result runner_result(runner *p, const step *s, pawl_status st, const pawl_error *err);

/* runner_send.c */
void run_send(runner *p, const step *s);
void run_tx_send(runner *p, const step *s);
void run_tx_end(runner *p, int which, bool commit);
/* runner_claim.c */
void run_claim(runner *p, const step *s);
void run_owned(runner *p, const step *s);
/* runner_change.c: everything that returns how many messages it changed */
void run_change(runner *p, const step *s);
void run_reap(runner *p, const step *s);
/* The pairs of a result, from what owners were given. */
size_t run_resolve(const model *m, const step *s, pawl_receipt ret_items[STEP_PICKS]);
void run_read(runner *p, const step *s);
/* The filter of a step; strings are static. */
pawl_outbox_filter run_filter(const model *m, const step *s);

/* ---- compare.c ---- */

bool compare_message(const model *m, const model_message *expected, const pawl_message *found,
                     bool with_payload, finding *wrong);
/* -1 when the model does not have it. */
int compare_number(const model *m, const pawl_message *found);
/* All messages, the counts, and the messages of every owner, through one of the stores. */
bool compare_everything(sequence_fixture *at, const model *m, int store, finding *wrong);
/* Which topics the store has a lane or totals of. */
void compare_has_totals(sequence_fixture *at, const model *m, int store, bool ret_has[MODEL_TOPICS],
                        finding *wrong);
/* Which messages the store has in progress. */
void compare_in_progress(sequence_fixture *at, const model *m, bool ret_owned[MODEL_MESSAGES],
                         finding *wrong);

#endif

/*
 * src/worker/intake.h - the thread that claims and answers.
 *
 * It is the one that called pawl_worker_run(). Acknowledgements go with the next claim, in one
 * commit; when there is nothing to claim they go by themselves, at once. docs/internals/worker.md
 * tells the whole story.
 */
#ifndef PAWLI_INTAKE_H
#define PAWLI_INTAKE_H

#include "answers.h"
#include "lease.h"
#include "waiter.h"
#include "wants.h"

typedef struct pawli_intake {
    pawli_waiter *waiter; /* NULL: step by step */
    pawli_answers answers;
    pawli_wants wants;
    pawli_lease_clock clock;
    int64_t call_us; /* how long claims take, on the average of late */
    bool drained;    /* the last claim took all there was */
    bool armed;      /* the waiter is, for these topics: */
    const char **armed_topics;
    size_t armed_count;
    size_t armed_capacity;
    bool in_doubt;       /* a claim's answer was lost: ask what is held */
    pawl_mono ask_until; /* it may still be committing until then */
    int64_t taken;       /* messages of this run */
    bool over;           /* it is enough, by the options */
    pawl_mono empty_at;  /* since when nothing is in hand and nothing comes; see ending.c */
    bool swept;          /* since then, leases that ended were looked for */
} pawli_intake;

/* Messages that a claim brought. */
typedef struct pawli_arrival {
    pawl_messages *take_list;
    pawl_mono asked_at; /* the claim began */
    bool dead;          /* they are dead letters */
    bool resumed;       /* some of them may be in hand already */
} pawli_arrival;

void pawli_intake_done(pawli_intake *intake);
/* Take them over, also when that fails: then the leases end by themselves. *ret_found: how many. */
pawl_status pawli_intake_adopt(pawl_worker *worker, const pawli_arrival *arrival, size_t *ret_found,
                               pawl_error *err);
/* Until stopping begins, it is enough by the options, or an error that will not go away. */
pawl_status pawli_intake_run(pawl_worker *worker, pawl_error *err);
/* Claim up to what is wanted, and acknowledge what is done; *ret_found: how many came. */
pawl_status pawli_intake_claim(pawl_worker *worker, size_t *ret_found, pawl_error *err);
/* Whether a claim in doubt may have brought something, or may still. */
bool pawli_intake_is_asking(const pawl_worker *worker);
/* After a claim in doubt: take over what it brought; *ret_found as above. */
pawl_status pawli_intake_resume(pawl_worker *worker, size_t *ret_found, pawl_error *err);

#endif

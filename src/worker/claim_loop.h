/*
 * src/worker/claim_loop.h - the claim loop: the thread that claims messages and stores results.
 *
 * It is the thread that called pawl_worker_run(). Acknowledgements are sent with the next claim, in
 * one commit; when there is nothing to claim they are sent alone, at once. See
 * docs/internals/worker.md.
 */
#ifndef PAWLI_CLAIM_LOOP_H
#define PAWLI_CLAIM_LOOP_H

#include "result_batch.h"
#include "lease_clock.h"
#include "waiter.h"
#include "claim_plan.h"

typedef struct pawli_claim_loop {
    pawli_waiter *waiter; /* NULL: single-step mode */
    pawli_result_batch results;
    pawli_claim_plan plan;
    pawli_lease_clock clock;
    int64_t call_us; /* recent average duration of claims */
    bool drained;    /* the last claim took all messages there were */
    bool armed;      /* the waiter is armed for these topics: */
    const char **armed_topics;
    size_t armed_count;
    size_t armed_capacity;
    bool in_doubt;       /* the response to a claim was lost: read the owned messages */
    pawl_mono ask_until; /* it may still commit until then */
    int64_t taken;       /* messages claimed in this run */
    bool over;           /* a limit of the options is reached */
    pawl_mono empty_at;  /* since when nothing is in flight and nothing arrives; see shutdown.c */
    bool swept;          /* since then, expired leases were reaped */
} pawli_claim_loop;

/* Messages returned by a claim. */
typedef struct pawli_claimed_list {
    pawl_messages *take_list;
    pawl_mono asked_at; /* when the claim began */
    bool dead;          /* they are dead letters */
    bool resumed;       /* some of them may already be in flight */
} pawli_claimed_list;

void pawli_claim_loop_done(pawli_claim_loop *claim_loop);
/*
 * Adopts the messages; takes ownership of the list also on failure, when the leases expire by
 * themselves. *ret_found: how many.
 */
pawl_status pawli_claim_loop_adopt(pawl_worker *worker, const pawli_claimed_list *claimed,
                                   size_t *ret_found, pawl_error *err);
/* Runs until shutdown begins, a limit of the options is reached, or a permanent error occurs. */
pawl_status pawli_claim_loop_run(pawl_worker *worker, pawl_error *err);
/*
 * Claims as much as planned, and acknowledges finished messages; *ret_found: how many were claimed.
 */
pawl_status pawli_claim_loop_claim(pawl_worker *worker, size_t *ret_found, pawl_error *err);
/* Whether a claim in doubt may have returned messages, or still may. */
bool pawli_claim_loop_in_doubt(const pawl_worker *worker);
/* After a claim in doubt: adopts the messages it returned; *ret_found as above. */
pawl_status pawli_claim_loop_resume(pawl_worker *worker, size_t *ret_found, pawl_error *err);

#endif

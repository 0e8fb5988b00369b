/*
 * src/worker/claim_plan.h - the claim plan: how many messages to claim now, and of which topics.
 *
 * It claims as many as there are idle handler threads, plus as many as handlers will need until the
 * next claim returns. That number is derived from the recent duration of handlers and claims, so
 * that slow handlers do not accumulate leased messages and fast ones never wait. A topic that has
 * reached its own limit is left out, and a topic with less room than the worker is claimed
 * separately.
 */
#ifndef PAWLI_CLAIM_PLAN_H
#define PAWLI_CLAIM_PLAN_H

#include "topic_cache.h"

/* One planned claim. */
typedef struct pawli_planned_claim {
    const char *const *topics; /* NULL: all */
    size_t topic_count;
    int limit;
} pawli_planned_claim;

typedef struct pawli_claim_plan {
    pawli_planned_claim *items;
    size_t count;
    size_t room;         /* messages in total */
    size_t low;          /* claim again when at most this many are queued or running */
    const char **topics; /* of all items, concatenated; those of the first come first */
    size_t topic_count;  /* 0 and there are items: all topics */
    size_t capacity;     /* of both arrays */
    bool by_name;        /* the topics were read from the store: read them again soon */
    unsigned rotation;   /* rotates which claim is first */
    pawli_topic_cache topic_cache;
} pawli_claim_plan;

void pawli_claim_plan_done(pawli_claim_plan *plan);
/* Computes what to claim now; no items: there is no room. May read topic names from the store. */
pawl_status pawli_claim_plan_make(pawl_worker *worker, bool *ret_names_changed, pawl_error *err);
/*
 * Single-step mode: one claim of a batch, ignoring the limits of handlers, which do not run
 * concurrently.
 */
pawl_status pawli_claim_plan_one_batch(pawl_worker *worker, pawl_error *err);
/* How many more messages may be in flight. */
size_t pawli_claim_plan_room(pawl_worker *worker);
/* How many messages may wait behind the running ones. With the lock of pawli_inflight held. */
size_t pawli_claim_plan_ahead(const pawl_worker *worker);

#endif

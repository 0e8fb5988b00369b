/*
 * src/worker/wants.h - the claim plan: how many messages to claim now, and of which topics.
 *
 * It claims as many as there are idle handler threads, plus as many as handlers will need until the
 * next claim returns. That number is derived from the recent duration of handlers and claims, so
 * that slow handlers do not accumulate leased messages and fast ones never wait. A topic that has
 * reached its own limit is left out, and a topic with less room than the worker is claimed
 * separately.
 */
#ifndef PAWLI_WANTS_H
#define PAWLI_WANTS_H

#include "names.h"

/* One planned claim. */
typedef struct pawli_want {
    const char *const *topics; /* NULL: all */
    size_t topic_count;
    int limit;
} pawli_want;

typedef struct pawli_wants {
    pawli_want *items;
    size_t count;
    size_t room;         /* messages in total */
    size_t low;          /* claim again when at most this many are queued or running */
    const char **topics; /* of all items, concatenated; those of the first come first */
    size_t topic_count;  /* 0 and there are items: all topics */
    size_t capacity;     /* of both arrays */
    bool by_name;        /* the topics were read from the store: read them again soon */
    unsigned turn;       /* rotates which claim is first */
    pawli_names names;
} pawli_wants;

void pawli_wants_done(pawli_wants *wants);
/* Computes what to claim now; no items: there is no room. May read topic names from the store. */
pawl_status pawli_wants_make(pawl_worker *worker, bool *ret_names_changed, pawl_error *err);
/*
 * Single-step mode: one claim of a batch, ignoring the limits of handlers, which do not run
 * concurrently.
 */
pawl_status pawli_wants_everything(pawl_worker *worker, pawl_error *err);
/* How many more messages may be in flight. */
size_t pawli_wants_room(pawl_worker *worker);
/* How many messages may wait behind the running ones. With the lock of pawli_hand held. */
size_t pawli_wants_ahead(const pawl_worker *worker);

#endif

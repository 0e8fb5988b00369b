/*
 * src/worker/wants.h - how many messages to claim now, and of which topics.
 *
 * As many as there are threads free, and as handlers will need until the next claim has answered:
 * that follows from how long handlers and claims took of late, so that slow handlers hoard nothing
 * and fast ones never wait. A topic with a limit of its own is left out when it is reached, and
 * claimed by itself when it has less room than the worker.
 */
#ifndef PAWLI_WANTS_H
#define PAWLI_WANTS_H

#include "names.h"

/* One claim to be made. */
typedef struct pawli_want {
    const char *const *topics; /* NULL: all */
    size_t topic_count;
    int limit;
} pawli_want;

typedef struct pawli_wants {
    pawli_want *items;
    size_t count;
    size_t room;         /* messages in all */
    size_t low;          /* claim again when no more than so many are queued or running */
    const char **topics; /* of all items, one after the other; those of the first come first */
    size_t topic_count;  /* 0 and there are items: all topics */
    size_t capacity;     /* of the two lists */
    bool by_name;        /* the topics were read from the store: look again before long */
    unsigned turn;       /* which of the claims is first changes */
    pawli_names names;
} pawli_wants;

void pawli_wants_done(pawli_wants *wants);
/* What to claim now; no items: there is no room. May read the topics' names from the store. */
pawl_status pawli_wants_make(pawl_worker *worker, bool *ret_names_changed, pawl_error *err);
/* Step by step: one claim of a batch, whatever the limits of handlers that do not run at once. */
pawl_status pawli_wants_everything(pawl_worker *worker, pawl_error *err);
/* How many messages more may be in hand. */
size_t pawli_wants_room(pawl_worker *worker);
/* How many messages may wait in line behind those that are handled. With the hand's lock held. */
size_t pawli_wants_ahead(const pawl_worker *worker);

#endif

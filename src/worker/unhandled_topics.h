/* src/worker/unhandled_topics.h - rate-limited warnings about topics without a handler. */
#ifndef PAWLI_UNHANDLED_TOPICS_H
#define PAWLI_UNHANDLED_TOPICS_H

#include <pawl/worker.h>

#define PAWLI_UNHANDLED_TOPICS_ROOM 64

/* Zero-initialize it. Used by the claim loop's thread. */
typedef struct pawli_unhandled_topics {
    struct {
        char *topic;
        pawl_mono warned;
    } entries[PAWLI_UNHANDLED_TOPICS_ROOM];
    size_t count;
    pawl_mono next_check; /* for topics that are not claimed; 0: at once */
} pawli_unhandled_topics;

void pawli_unhandled_topics_done(pawli_unhandled_topics *unhandled);
/* A message of this topic was claimed and there is no handler for it. */
void pawli_unhandled_topics_claimed(pawl_worker *worker, const char *topic);
/*
 * Warns about topics that have due messages but that this worker does not claim because it has no
 * handler for them: at start and then every no_handler_warn_ms. Errors are left to the next claim.
 * The claim loop's thread, without locks.
 */
void pawli_unhandled_topics_check(pawl_worker *worker);

#endif

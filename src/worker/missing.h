/* src/worker/missing.h - warning of topics without a handler, once in a while for each. */
#ifndef PAWLI_MISSING_H
#define PAWLI_MISSING_H

#include <pawl/worker.h>

#define PAWLI_MISSING_ROOM 64

/* Zero-initialise it. The intake's. */
typedef struct pawli_missing {
    struct {
        char *topic;
        pawl_mono warned;
    } entries[PAWLI_MISSING_ROOM];
    size_t count;
    pawl_mono next_check; /* for topics that are not claimed; 0: at once */
} pawli_missing;

void pawli_missing_done(pawli_missing *missing);
/* A message of this topic was claimed and there is no handler for it. */
void pawli_missing_note(pawl_worker *worker, const char *topic);
/*
 * Warns of topics with messages that are due, that this worker does not claim because it has no
 * handler for them: when it starts and then every missing_ms. Errors are left to the next claim.
 * Thread: the intake's, without locks.
 */
void pawli_missing_check(pawl_worker *worker);

#endif

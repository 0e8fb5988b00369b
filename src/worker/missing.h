/* src/worker/missing.h - rate-limited warnings about topics without a handler. */
#ifndef PAWLI_MISSING_H
#define PAWLI_MISSING_H

#include <pawl/worker.h>

#define PAWLI_MISSING_ROOM 64

/* Zero-initialize it. Used by the claim loop's thread. */
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
 * Warns about topics that have due messages but that this worker does not claim because it has no
 * handler for them: at start and then every missing_ms. Errors are left to the next claim. The
 * claim loop's thread, without locks.
 */
void pawli_missing_check(pawl_worker *worker);

#endif

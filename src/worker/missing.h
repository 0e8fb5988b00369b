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
} pawli_missing;

void pawli_missing_done(pawli_missing *missing);
/* A message of this topic has come and nobody handles it. */
void pawli_missing_note(pawl_worker *worker, const char *topic);

#endif

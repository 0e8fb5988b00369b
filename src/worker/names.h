/* src/worker/names.h - the topics there are in the store, for "all but these". */
#ifndef PAWLI_NAMES_H
#define PAWLI_NAMES_H

#include <pawl/topic.h>
#include <pawl/worker.h>

/*
 * A claim names the topics it wants, or none for all. Where a default handler takes all topics and
 * one of them has reached its limit, those that are left have to be named. Topics that are new are
 * seen when the list is read again.
 */
#define PAWLI_NAMES_AGE_US INT64_C(1000000)

/* Zero-initialise it. The intake's. */
typedef struct pawli_names {
    pawl_topics *topics; /* NULL: not read yet */
    pawl_mono read_at;
} pawli_names;

void pawli_names_done(pawli_names *names);
/* Read them if that was not done lately; *ret_changed: pointers given out before are void. */
pawl_status pawli_names_refresh(pawl_worker *worker, bool *ret_changed, pawl_error *err);
size_t pawli_names_count(const pawli_names *names);
const char *pawli_names_at(const pawli_names *names, size_t index);

#endif

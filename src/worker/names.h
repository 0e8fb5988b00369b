/* src/worker/names.h - a cache of the topics in the store, to claim all topics except some. */
#ifndef PAWLI_NAMES_H
#define PAWLI_NAMES_H

#include <pawl/topic.h>
#include <pawl/worker.h>

/*
 * A claim names its topics, or none for all. If a default handler takes all topics and one topic
 * has reached its limit, the claim must name the remaining ones. New topics are found when the list
 * is read again.
 */
#define PAWLI_NAMES_AGE_US INT64_C(1000000)

/* Zero-initialize it. Used by the claim loop's thread. */
typedef struct pawli_names {
    pawl_topics *topics; /* NULL: not read yet */
    pawl_mono read_at;
} pawli_names;

void pawli_names_done(pawli_names *names);
/* Reads the list if it is too old; *ret_changed: pointers returned before are invalid. */
pawl_status pawli_names_refresh(pawl_worker *worker, bool *ret_changed, pawl_error *err);
size_t pawli_names_count(const pawli_names *names);
const char *pawli_names_at(const pawli_names *names, size_t index);

#endif

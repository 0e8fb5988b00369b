/* src/worker/topic_cache.h - a cache of the topics in the store, to claim all topics except some.
 */
#ifndef PAWLI_TOPIC_CACHE_H
#define PAWLI_TOPIC_CACHE_H

#include <pawl/topic.h>
#include <pawl/worker.h>

/*
 * A claim names its topics, or none for all. If a default handler takes all topics and one topic
 * has reached its limit, the claim must name the remaining ones. New topics are found when the list
 * is read again.
 */
#define PAWLI_NAMES_AGE_US INT64_C(1000000)

/* Zero-initialize it. Used by the claim loop's thread. */
typedef struct pawli_topic_cache {
    pawl_topics *topics; /* NULL: not read yet */
    pawl_mono read_at;
} pawli_topic_cache;

void pawli_topic_cache_done(pawli_topic_cache *topic_cache);
/* Reads the list if it is too old; *ret_changed: pointers returned before are invalid. */
pawl_status pawli_topic_cache_refresh(pawl_worker *worker, bool *ret_changed, pawl_error *err);
size_t pawli_topic_cache_count(const pawli_topic_cache *topic_cache);
const char *pawli_topic_cache_at(const pawli_topic_cache *topic_cache, size_t index);

#endif
